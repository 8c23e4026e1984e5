import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ControlActivities } from '../../activities/control/control-activities.js';
import type { ModelActivities } from '../../activities/control/model-activities.js';
import { sweepModelWorkflows } from '../../activities/control/sweep-models.js';
import { modelWorkflowId, poolWorkflowId } from '../../src/lifecycle/names.js';
import { GIB } from '../store/ledger.js';
import { EVERYTHING } from '../store/models.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import type { EngineStep } from '../support/simulated-engines.js';
import { FOOTPRINT_BYTES, openPoolPlane, type PoolPlane, sweep, USABLE_BYTES } from './pool-plane.js';

/** On real Postgres and Temporal, with the real planner; the node's engines are simulated, in memory. */
type Step = keyof ModelActivities;
const STEPS: readonly Step[] = ['poolTurn', 'recordLimits', 'memberWork', 'claimLife', 'settleOrder'];

let plane: ControlPlane;
let warm: PoolPlane;
let broken: { readonly step: Step; readonly when: 'before' | 'after' } | undefined;
let isDoorShut = false;
let mostPromised = 0;

const breakOnce = (step: Step, when: 'before' | 'after') => {
  if (broken?.step !== step || broken.when !== when) return;
  broken = undefined;
  throw new Error(`${step} died ${when} its effect`);
};

function breakable(activities: ControlActivities): ControlActivities {
  const wrapped: Record<string, unknown> = { ...activities };
  for (const step of STEPS) {
    const act = (activities as unknown as Record<Step, (...input: unknown[]) => Promise<unknown>>)[step];
    wrapped[step] = async (...input: unknown[]) => {
      breakOnce(step, 'before');
      const answer = await act(...input);
      breakOnce(step, 'after');
      return answer;
    };
  }
  return wrapped as unknown as ControlActivities;
}

beforeAll(async () => {
  plane = await startControlPlane({
    wrap: breakable,
    durations: { poolNetMs: 600_000, poolRestMs: 600_000, modelNetMs: 600_000, modelRestMs: 600_000 },
    bend: ({ store, door }) => ({
      store,
      door: {
        ...door,
        async signalModel(claimId) {
          if (isDoorShut) throw new Error('lost on the way');
          await door.signalModel(claimId);
        },
      },
    }),
  });
  plane.node.engines.onChange = (engines) => {
    let promised = 0;
    for (const { limitBytes } of engines.values()) promised += FOOTPRINT_BYTES + (limitBytes ?? 0);
    mostPromised = Math.max(mostPromised, promised);
  };
  warm = await openPoolPlane(plane);
});
afterAll(() => plane.stop());
beforeEach(() => {
  broken = undefined;
});

const limitsOf = async (...models: string[]) => {
  const limits: number[] = [];
  for (const model of models) limits.push(((await warm.find(model)).instances[0]?.limitBytes ?? 0) / GIB);
  return limits;
};

test('a member is submitted as a session, and is looked at as soon as it runs', async () => {
  broken = { step: 'memberWork', when: 'after' };
  await plane.door.kickPool('warm');
  await eventually('it is READY', async () => (await warm.member()) !== '');
  const session = await plane.session((await warm.member()) as never);
  expect(session).toMatchObject({ kind: 'system', state: 'RUNNING', labels: { 'berth.pool': 'warm' } });
  const { items } = await plane.store.sessions.list({ limit: 10 }, plane.admin);
  expect(items).toHaveLength(1);
  await warm.look();
});

test('one claim has the whole GPU; a second one starts only when the first has come down', async () => {
  await warm.claim('a');
  await warm.until('a', 'ACTIVE');
  expect(await limitsOf('a')).toEqual([6.5]);
  await warm.claim('b');
  const { instances } = await warm.until('b', 'ACTIVE');
  expect(instances[0]?.routable).toBe(true);
  expect(await limitsOf('a', 'b')).toEqual([1.75, 1.75]);
  expect(mostPromised).toBeLessThanOrEqual(USABLE_BYTES);
});

/** b sleeps, and wakes when it is asked for. */
async function sleepAndWake(): Promise<void> {
  await warm.sleep('b');
  await warm.until('b', 'SLEEPING');
  await eventually('its neighbour has what it left', async () => {
    await warm.look();
    return (await limitsOf('a'))[0] === 2.5;
  });
  await warm.wake('b');
  const { instances } = await warm.until('b', 'ACTIVE');
  expect(instances[0]?.routable).toBe(true);
  await eventually('the GPU is divided', async () => {
    await warm.look();
    const [a, b] = await limitsOf('a', 'b');
    return a === b;
  });
  expect(mostPromised).toBeLessThanOrEqual(USABLE_BYTES);
}

describe('sleep and wake end as they should, and no byte is promised twice, when', () => {
  for (const step of STEPS.filter((one) => one !== 'memberWork'))
    for (const when of ['before', 'after'] as const)
      test(`${step} dies ${when} its effect`, async () => {
        broken = { step, when };
        await sleepAndWake();
        expect(broken).toBeUndefined();
      });

  const NODE_STEPS: readonly EngineStep[] = ['setLimits', 'sleepEngine', 'wakeEngine'];
  for (const step of NODE_STEPS)
    for (const when of ['before', 'after'] as const)
      test(`the node's ${step} dies ${when} its effect`, async () => {
        plane.node.engines.behaviour.breakStep = { step, when };
        await sleepAndWake();
        expect(plane.node.engines.behaviour.breakStep).toBeUndefined();
      });

  test('the signals to the claim are lost: the sweeper sends them again', async () => {
    isDoorShut = true;
    await warm.sleep('b');
    await eventually('the order is given', async () => (await plane.store.models.due(0)).claims.length === 1);
    isDoorShut = false;
    expect(await sweep(plane)).toBeGreaterThan(0);
    await warm.until('b', 'SLEEPING');
    await warm.wake('b');
    await warm.until('b', 'ACTIVE');
  });

  test('both workflows are ended from outside: the sweeper starts them, and they go on from the ledger', async () => {
    await warm.sleep('b');
    await warm.until('b', 'SLEEPING');
    const ids = [poolWorkflowId('warm'), modelWorkflowId((await warm.find('b')).id)];
    for (const id of ids) await plane.client.workflow.getHandle(id).terminate('by hand');
    const asked = [{ claimId: (await warm.find('b')).id, lastRequestMs: Date.now() }];
    await plane.store.models.askWakes(asked); // the kick after it is lost
    await sweepModelWorkflows(plane.dependencies);
    await warm.until('b', 'ACTIVE');
  });
});

test('a wake costs the control plane little', async () => {
  await warm.sleep('b');
  await warm.until('b', 'SLEEPING');
  const begun = performance.now();
  await warm.wake('b');
  await eventually('it is on the route', async () => (await warm.find('b')).instances[0]?.routable === true);
  const tookMs = performance.now() - begun;
  process.stderr.write(`a wake took ${Math.round(tookMs)} ms\n`);
  expect(tookMs).toBeLessThan(3_000);
});

test('a claim that is ended is drained and gone, its workflow ends, and its neighbour has the GPU', async () => {
  const { id } = await warm.find('b');
  plane.node.engines.behaviour.breakStep = { step: 'stopEngine', when: 'after' };
  await warm.end('b');
  expect(await plane.client.workflow.getHandle(modelWorkflowId(id)).result()).toBe('b has ended');
  await eventually('the neighbour has it', async () => {
    await warm.look();
    return (await limitsOf('a'))[0] === 6.5;
  });
});

test('a member that ends is made again, and its claims are placed there', async () => {
  const before = await warm.member();
  const [kernel] = (await plane.session(before as never)).kernels;
  plane.node.engines.engines.clear();
  const exited = { exitCode: 137, oomKilled: false, engineLost: false, logTail: '' } as const;
  const finishedAt = new Date().toISOString();
  await plane.node.report({ kind: 'exited', kernelId: kernel?.id as never, attempt: 1, finishedAt, ...exited });
  await plane.until(before as never, 'TERMINATED', 'ERROR');
  await eventually('another is READY', async () => !['', before].includes(await warm.member()));
  await warm.until('a', 'ACTIVE');
  expect((await warm.find('a')).instances[0]?.member).not.toBe(before);
});

test('a pool that is removed stops its members, and its workflow ends', async () => {
  await warm.end('a');
  await eventually('no claim is left', async () => {
    await warm.look();
    return (await plane.store.models.claims({ limit: 10, pool: 'warm' }, EVERYTHING)).items.length === 0;
  });
  expect(await plane.store.models.removePool('warm', 'admin')).toBe('removed');
  await plane.door.kickPool('warm');
  expect(await plane.client.workflow.getHandle(poolWorkflowId('warm')).result()).toBe('warm has ended');
  await plane.settled();
});
