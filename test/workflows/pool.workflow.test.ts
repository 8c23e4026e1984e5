import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type {
  MemberLimits,
  ModelActivities,
  PoolTurn,
  WrittenLimits,
} from '../../activities/control/model-activities.js';
import { poolWorkflowId } from '../../src/lifecycle/names.js';
import { eventually } from '../support/process.js';
import type { SimulatedEngines } from '../support/simulated-engines.js';
import { type ModelPlane, quietTurn, startModelPlane } from './model-plane.js';

/** The turns of one pool, as the test wants them; afterwards there is nothing to do. */
const turns: ((pool: string) => Partial<PoolTurn> | Promise<Partial<PoolTurn>>)[] = [];
const asked: { pool: string; at: number }[] = [];
const recorded: WrittenLimits[] = [];
let again = false;
let membersWorked = 0;

const activities: Partial<ModelActivities> = {
  async poolTurn(pool) {
    asked.push({ pool, at: Date.now() });
    return quietTurn(await turns.shift()?.(pool));
  },
  async recordLimits(written) {
    recorded.push(written);
    return { again };
  },
  async memberWork() {
    membersWorked += 1;
    return { more: false };
  },
};

let plane: ModelPlane;
let n1: SimulatedEngines;
let n2: SimulatedEngines;
let number = 0;
let pool = '';
beforeAll(async () => {
  plane = await startModelPlane(activities, { durations: { poolNetMs: 600_000, poolRestMs: 600_000 } });
  n1 = await plane.addNode('n1');
  n2 = await plane.addNode('n2');
});
afterAll(() => plane.stop());
beforeEach(() => {
  turns.length = 0;
  asked.length = 0;
  recorded.length = 0;
  again = false;
  membersWorked = 0;
  number += 1;
  pool = `p${number}`;
  for (const { engines, log, behaviour } of [n1, n2]) {
    engines.clear();
    log.length = 0;
    for (const key of Object.keys(behaviour)) delete behaviour[key as keyof typeof behaviour];
  }
});

const limit = (instanceId: string, toBytes: number, gpu = 'n1/0') => ({ instanceId, toBytes, gpus: [gpu] });
const member = (node: string, change: Partial<MemberLimits> = {}): MemberLimits => ({
  node,
  memberSessionId: `ses-${node}`,
  lower: [limit('a', 10)],
  raise: [limit('b', 20)],
  ...change,
});
const done = (log: readonly string[]) => log.map((line) => line.replace(/ \(turn.*/, ''));
const takenTurns = (count: number) => eventually(`${count} turns`, () => asked.length >= count);
const stages = () => recorded.map(({ memberSessionId, results }) => `${memberSessionId} ${JSON.stringify(results)}`);

describe('a turn', () => {
  test('lowers, records what was read back, raises, and records again', async () => {
    turns.push(() => ({ limits: [member('n1')], membersDue: true }));
    await plane.door.kickPool(pool);
    await eventually('both are recorded', () => recorded.length === 2);
    expect(done(n1.log)).toEqual(['lower a 10', 'raise b 20']);
    expect(recorded).toEqual([
      { pool, memberSessionId: 'ses-n1', results: [{ instanceId: 'a', limitBytes: 10, kvUsedBytes: 0 }] },
      { pool, memberSessionId: 'ses-n1', results: [{ instanceId: 'b', limitBytes: 20, kvUsedBytes: 0 }] },
    ]);
    expect(membersWorked).toBe(1);
  });

  test('raises nothing on a GPU where a lower limit is not kept to yet, and is followed by another turn', async () => {
    n1.behaviour.usesBytes = { a: 11 };
    const raise = [limit('b', 20), limit('c', 20, 'n1/1')];
    turns.push(() => ({ limits: [member('n1', { raise })] }));
    await plane.door.kickPool(pool);
    await takenTurns(2);
    expect(done(n1.log)).toEqual(['lower a 10', 'raise c 20']);
    expect((asked[1]?.at ?? 0) - (asked[0]?.at ?? 0)).toBeGreaterThan(900);
  });

  for (const when of ['before', 'after'] as const) {
    test(`whose lower dies ${when} its effect raises nothing: what is in force is not known`, async () => {
      n1.behaviour.breakStep = { step: 'setLimits', when };
      turns.push(() => ({ limits: [member('n1')] }));
      await plane.door.kickPool(pool);
      await takenTurns(2);
      expect(stages()).toEqual(['ses-n1 "unreachable"']);
      expect(done(n1.log)).toEqual(when === 'after' ? ['lower a 10'] : []);
    });
  }

  test('is not held up by a node that does not answer for more than 5 s, and the others are divided at once', async () => {
    n1.behaviour.silentLimits = true;
    turns.push(() => ({
      limits: [member('n1'), member('n2', { lower: [limit('x', 1, 'n2/0')], raise: [limit('y', 2, 'n2/0')] })],
    }));
    const begun = Date.now();
    await plane.door.kickPool(pool);
    await eventually('the other is divided', () => done(n2.log).length === 2);
    expect(Date.now() - begun).toBeLessThan(3_000);
    await takenTurns(2);
    expect(stages().at(-1)).toBe('ses-n1 "unreachable"');
    expect(Date.now() - begun).toBeLessThan(9_000);
  });

  test('of a pool that was removed, and whose members have gone, is the last', async () => {
    turns.push(() => ({ outcome: 'ended' }));
    await plane.door.kickPool(pool);
    expect(await plane.client.workflow.getHandle(poolWorkflowId(pool)).result()).toBe(`${pool} has ended`);
    await plane.door.kickPool(pool); // one of the same name is made
    await takenTurns(2);
  });
});

describe('what wakes it', () => {
  test('two kicks at once, and a hundred during a turn, are one turn more', async () => {
    let release: () => void = () => undefined;
    turns.push(async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return {};
    });
    await Promise.all([plane.door.kickPool(pool), plane.door.kickPool(pool), plane.door.ensurePool(pool)]);
    await takenTurns(1);
    await Promise.all(Array.from({ length: 100 }, () => plane.door.kickPool(pool)));
    release();
    await takenTurns(2);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(asked).toHaveLength(2);
  });

  test('the moment that the last plan named', async () => {
    turns.push(() => ({ nextLookMs: 1_200 }));
    await plane.door.kickPool(pool);
    await takenTurns(2);
    expect((asked[1]?.at ?? 0) - (asked[0]?.at ?? 0)).toBeGreaterThanOrEqual(1_200);
  });

  test('nothing, while nothing changes: it rests without a task', async () => {
    await plane.door.kickPool(pool);
    await takenTurns(1);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(asked).toHaveLength(1);
    const events = await plane.eventsOf(poolWorkflowId(pool));
    expect(events.length).toBeLessThanOrEqual(14);
  });

  test('what it was doing when its worker was lost goes on with another', async () => {
    turns.push(() => ({ limits: [member('n1', { raise: [] })] }));
    await plane.door.kickPool(pool);
    await eventually('it rests', () => recorded.length === 1);
    await plane.replaceWorker();
    turns.push(() => ({ limits: [member('n1', { lower: [] })] }));
    await plane.door.kickPool(pool);
    await eventually('it goes on', () => done(n1.log).length === 2);
    expect(done(n1.log)).toEqual(['lower a 10', 'raise b 20']);
  });
});

describe('over the end of its run', () => {
  let short: ModelPlane;
  beforeAll(async () => {
    const dynamicConfig = ['limit.historyCount.suggestContinueAsNew=12'];
    short = await startModelPlane(activities, {
      dynamicConfig,
      durations: { poolNetMs: 600_000, poolRestMs: 600_000 },
    });
  });
  afterAll(() => short.stop());

  test('a kick during the last turn of a run is carried into the next', async () => {
    const slow = async () => {
      await new Promise((resolve) => setTimeout(resolve, 150));
      return {};
    };
    turns.push(...Array.from({ length: 30 }, () => slow));
    await short.door.kickPool(pool);
    for (let burst = 0; burst < 3; burst += 1) {
      const seen = asked.length;
      await eventually('a turn begins', () => asked.length > seen || burst === 0, 10);
      await new Promise((resolve) => setTimeout(resolve, 40)); // in the middle of it
      const kickedAt = Date.now();
      await short.door.kickPool(pool);
      await eventually(`kick ${burst} is followed by a turn`, () => (asked.at(-1)?.at ?? 0) > kickedAt, 10);
      await short.door.kickPool(pool);
    }
    const { runId, raw } = await short.client.workflow.getHandle(poolWorkflowId(pool)).describe();
    expect(raw.workflowExecutionInfo?.firstRunId).not.toBe(runId);
  });
});
