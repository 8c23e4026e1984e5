import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DueOrder, ModelActivities, SettledOrder } from '../../activities/control/model-activities.js';
import type { OrderKind } from '../../src/contract/index.js';
import { modelWorkflowId } from '../../src/lifecycle/names.js';
import { eventually } from '../support/process.js';
import type { EngineStep, SimulatedEngines } from '../support/simulated-engines.js';
import { type ModelPlane, startModelPlane } from './model-plane.js';

/** The orders of one claim as rows would have them: settled once, by their seq. */
class Claim {
  readonly due = new Map<string, DueOrder>();
  readonly settled: SettledOrder[] = [];
  looks = 0;
  outcome: 'lives' | 'ended' = 'lives';
  /** The next call of this activity dies: before it did anything, or after it did all. */
  broken: { readonly step: 'claimLife' | 'settleOrder'; readonly when: 'before' | 'after' } | undefined;

  breaking(step: 'claimLife' | 'settleOrder', when: 'before' | 'after') {
    if (this.broken?.step !== step || this.broken.when !== when) return;
    this.broken = undefined;
    throw new Error(`${step} died ${when} its effect`);
  }
}
const claims = new Map<string, Claim>();
const claimOf = (claimId: string) => claims.get(claimId) ?? new Claim();

const activities: Partial<ModelActivities> = {
  async claimLife(id) {
    const one = claimOf(id);
    one.looks += 1;
    one.breaking('claimLife', 'before');
    const orders = [...one.due.values()];
    const life = { outcome: one.outcome, modelName: 'llama', pool: 'p', orders, details: 'as the ledger says' };
    one.breaking('claimLife', 'after');
    return life;
  },
  async settleOrder(order) {
    const one = claimOf(order.claimId);
    one.breaking('settleOrder', 'before');
    if (one.due.get(order.instanceId)?.seq === order.seq) {
      one.due.delete(order.instanceId);
      one.settled.push(order);
    }
    one.breaking('settleOrder', 'after');
  },
};

let plane: ModelPlane;
let n1: SimulatedEngines;
let number = 0;
let claimId = '';
let claim = new Claim();
beforeAll(async () => {
  plane = await startModelPlane(activities, { durations: { modelNetMs: 500, modelRestMs: 600_000 } });
  n1 = await plane.addNode('n1');
});
afterAll(() => plane.stop());
beforeEach(() => {
  claim.due.clear();
  number += 1;
  claimId = `mdl_${number}`;
  claim = new Claim();
  claims.set(claimId, claim);
  n1.engines.clear();
  n1.log.length = 0;
  for (const key of Object.keys(n1.behaviour)) delete n1.behaviour[key as keyof typeof n1.behaviour];
});

const give = async (kind: OrderKind, change: Partial<DueOrder> = {}) => {
  const order = { instanceId: 'a', kind, seq: 1, node: 'n1', memberSessionId: 'ses', plannedBytes: 7, ...change };
  claim.due.set(order.instanceId, order);
  await plane.door.signalModel(claimId);
};
const all = (count: number) => eventually(`${count} are settled`, () => claim.settled.length >= count);
const results = () => claim.settled.map(({ instanceId, seq, result }) => `${instanceId} ${seq} ${result.outcome}`);
const detailsOf = async (): Promise<string> => {
  const { raw } = await plane.client.workflow.getHandle(modelWorkflowId(claimId)).describe();
  return JSON.stringify(raw);
};

test('a claim whose engine starts, sleeps, wakes and is stopped', async () => {
  await give('start');
  await all(1);
  await give('sleep', { seq: 2 });
  await all(2);
  await give('wake', { seq: 3 });
  await all(3);
  await give('stop', { seq: 4 });
  await all(4);
  expect(n1.log).toEqual(['start a', 'sleep a', 'wake a', 'stop a']);
  expect(results()).toEqual(['a 1 ready', 'a 2 asleep', 'a 3 ready', 'a 4 gone']);
  claim.outcome = 'ended';
  await plane.door.signalModel(claimId);
  expect(await plane.client.workflow.getHandle(modelWorkflowId(claimId)).result()).toBe('llama has ended');
});

test('engines of one claim are served side by side, and one that hangs holds up no other', async () => {
  n1.behaviour.hang = 'startEngine';
  await give('start');
  await eventually('it hangs', () => n1.log.includes('startEngine hangs'));
  n1.behaviour.hang = undefined;
  await give('start', { instanceId: 'b' });
  await all(1);
  expect(results()).toEqual(['b 1 ready']);
  expect(await detailsOf()).toContain('startEngine');
  claim.due.clear(); // taken back: the hanging one is cancelled
  await plane.door.signalModel(claimId);
});

const STEPS: readonly [OrderKind, EngineStep][] = [
  ['start', 'startEngine'],
  ['sleep', 'sleepEngine'],
  ['wake', 'wakeEngine'],
  ['stop', 'stopEngine'],
];
describe('an order', () => {
  for (const [kind, step] of STEPS)
    for (const when of ['before', 'after'] as const) {
      test(`${kind} that dies ${when} its effect is carried out again, and done once`, async () => {
        n1.engines.set('a', {
          limitBytes: 7,
          kvUsedBytes: 0,
          state: kind === 'sleep' ? 'awake' : 'asleep',
          running: 0,
        });
        n1.behaviour.breakStep = { step, when };
        await give(kind);
        await all(1);
        expect(n1.log).toEqual([`${kind} a`]);
        expect(claim.settled).toHaveLength(1);
      });
    }

  for (const step of ['claimLife', 'settleOrder'] as const)
    for (const when of ['before', 'after'] as const) {
      test(`is carried out once when ${step} dies ${when} its effect`, async () => {
        claim.broken = { step, when };
        await give('start');
        await all(1);
        await eventually('it died', () => claim.broken === undefined);
        expect(n1.log).toEqual(['start a']);
        expect(results()).toEqual(['a 1 ready']);
      });
    }

  test('that the ledger has taken back is cancelled, and the next of the same engine begins only when it has ended', async () => {
    n1.behaviour.hang = 'startEngine';
    await give('start');
    await eventually('it hangs', () => n1.log.includes('startEngine hangs'));
    await give('stop', { seq: 2 });
    await all(1);
    expect(results()).toEqual(['a 2 gone']);
  });

  test('taken back without a word is noticed at the next look', async () => {
    n1.behaviour.hang = 'startEngine';
    await give('start');
    await eventually('it hangs', () => n1.log.includes('startEngine hangs'));
    claim.due.clear();
    const before = claim.looks;
    await eventually('it looks again', () => claim.looks > before + 1);
    const rest = claim.looks;
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(claim.looks).toBeLessThanOrEqual(rest + 1); // with nothing under way it rests
    expect(claim.settled).toEqual([]);
  });

  test('whose failure is understood is settled as what it is', async () => {
    n1.behaviour.answer = { startEngine: { outcome: 'failed', whose: 'claim', message: 'no such model' } };
    await give('start');
    await all(1);
    expect(claim.settled[0]?.result).toEqual({ outcome: 'failed', whose: 'claim', message: 'no such model' });
  });

  test('that is signalled ten times at once is carried out once', async () => {
    await give('start');
    await Promise.all(Array.from({ length: 10 }, () => plane.door.signalModel(claimId)));
    await all(1);
    expect(n1.log).toEqual(['start a']);
    expect(results()).toEqual(['a 1 ready']);
  });

  test('goes on under another worker when its own is lost', async () => {
    n1.behaviour.hang = 'startEngine';
    await give('start');
    await eventually('it hangs', () => n1.log.includes('startEngine hangs'));
    await plane.replaceWorker();
    await give('stop', { seq: 2 });
    await all(1);
    expect(results()).toEqual(['a 2 gone']);
  });

  test('to an agent that stopped in the middle of it is carried out by the one that comes back', async () => {
    const node = await plane.addNode('n2');
    node.behaviour.hang = 'wakeEngine';
    await give('wake', { node: 'n2' });
    await eventually('it hangs', () => node.log.includes('wakeEngine hangs'));
    await plane.removeNode('n2');
    const back = await plane.addNode('n2');
    await all(1);
    expect(back.log).toEqual(['wake a']);
    expect(results()).toEqual(['a 1 ready']);
  });
});

test('a claim without orders rests without a task', async () => {
  await give('start');
  await all(1);
  await eventually('it has looked again', () => claim.looks >= 2);
  const countEvents = async () => (await plane.eventsOf(modelWorkflowId(claimId))).length;
  let seen = 0;
  await eventually('its last task is done', async () => {
    const before = seen;
    seen = await countEvents();
    await new Promise((resolve) => setTimeout(resolve, 500));
    return seen === before;
  });
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(await countEvents()).toBe(seen);
  expect(claim.looks).toBe(2);
});
