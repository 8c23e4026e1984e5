import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ControlActivities } from '../../activities/control/control-activities.js';
import { sweepChangedDeployments, sweepDeploymentWorkflows } from '../../activities/control/sweep-deployments.js';
import { deploymentWorkflowId } from '../../src/lifecycle/names.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import { setPolicy } from './course.js';
import { openServePlane, type ServePlane } from './serve-plane.js';

/** On real Postgres and Temporal; the node's containers are simulated, rows of a table. */
type Step = 'deploymentTurn' | 'deploymentWork';
const STEPS: readonly Step[] = ['deploymentTurn', 'deploymentWork'];

let plane: ControlPlane;
let chat: ServePlane;
let broken: { readonly step: Step; readonly when: 'before' | 'after' } | undefined;
let isTwice = false;

const breakOnce = (step: Step, when: 'before' | 'after') => {
  if (broken?.step !== step || broken.when !== when) return;
  broken = undefined;
  throw new Error(`${step} died ${when} its effect`);
};

function breakable(activities: ControlActivities): ControlActivities {
  const wrap =
    <Answer>(step: Step, act: (id: string) => Promise<Answer>) =>
    async (id: string): Promise<Answer> => {
      breakOnce(step, 'before');
      if (isTwice) await act(id);
      const answer = await act(id);
      breakOnce(step, 'after');
      return answer;
    };
  return {
    ...activities,
    deploymentTurn: wrap('deploymentTurn', (id) => activities.deploymentTurn(id)),
    deploymentWork: wrap('deploymentWork', (id) => activities.deploymentWork(id)),
  };
}

beforeAll(async () => {
  // Nets so long that what passes here passes by kicks and by the moments that turns name.
  const durations = { deploymentNetMs: 600_000, deploymentRestMs: 600_000 };
  plane = await startControlPlane({ wrap: breakable, durations });
  plane.node.behaviour.passesChecks = true;
  chat = await openServePlane(plane, 'chat', { replicas: 3 });
});
afterAll(() => plane.stop());
beforeEach(() => {
  broken = undefined;
  isTwice = false;
  for (const key of Object.keys(plane.node.behaviour))
    delete plane.node.behaviour[key as keyof typeof plane.node.behaviour];
  plane.node.behaviour.passesChecks = true;
});

const submitted = async () => (await plane.store.sessions.list({ limit: 200 }, plane.admin)).items.length;

test('as many as are wanted serve, and each is a session of its own', async () => {
  const { replicas, state } = await chat.settled(3, 1);
  expect(state).toBe('READY');
  const session = await plane.session(replicas[0]?.sessionId as never);
  expect(session).toMatchObject({ kind: 'inference', state: 'RUNNING', labels: { 'berth.deployment': 'chat' } });
  expect(session.name).toMatch(/^chat-r1-/);
  expect(await chat.events()).toContain('corrected ×1: live 0, wanted 3: 3 more of revision 1');
  expect(await submitted()).toBe(3);
});

test('one that is killed is replaced within 2 s, by kicks alone', async () => {
  const victim = (await chat.view()).replicas[0]?.sessionId ?? '';
  const begun = performance.now();
  await chat.kill(victim);
  await eventually('another is placed', async () => {
    const { replicas } = await chat.view();
    return replicas.some(({ route, node }) => route !== 'ACTIVE' && route !== 'DRAINING' && node !== null);
  });
  const placedMs = performance.now() - begun;
  await chat.settled(3, 1);
  process.stderr.write(`a killed replica's replacement was placed after ${Math.round(placedMs)} ms\n`);
  expect(placedMs).toBeLessThan(2_000);
  expect((await chat.events()).join('\n')).toContain('live 2, wanted 3: 1 more of revision 1');
});

describe('a scale and a death come out as wanted, with no session too many, when', () => {
  const upAndDown = async () => {
    const before = await submitted();
    await chat.scale(4);
    await chat.settled(4, 1);
    await chat.matured();
    await chat.kill((await chat.view()).replicas[0]?.sessionId ?? '');
    await eventually('it is seen', async () => (await submitted()) > before + 1);
    await chat.settled(4, 1);
    await chat.scale(3);
    await chat.settled(3, 1);
    expect(await submitted()).toBe(before + 2);
  };

  for (const step of STEPS)
    for (const when of ['before', 'after'] as const)
      test(`${step} dies ${when} its effect`, async () => {
        broken = { step, when };
        await upAndDown();
        expect(broken).toBeUndefined();
      });

  test('each step is run twice', async () => {
    isTwice = true;
    await upAndDown();
  });

  test('its workflow is ended from outside: the sweeper starts it, and it goes on from the ledger', async () => {
    await plane.client.workflow.getHandle(deploymentWorkflowId(chat.id)).terminate('by hand');
    await plane.store.deployments.scale(chat.id, 4, 'admin'); // its kick is lost
    await sweepDeploymentWorkflows(plane.dependencies);
    await chat.settled(4, 1);
  });

  test('its kick is lost: the sweeper kicks it', async () => {
    await plane.store.deployments.scale(chat.id, 3, 'admin');
    await eventually('it is swept', async () => (await sweepChangedDeployments(plane.dependencies, 0)) > 0);
    await chat.settled(3, 1);
  });
});

/** The fewest that served at any look while `work` went on. */
async function fewestServing(work: () => Promise<unknown>): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY;
  let isOver = false;
  const over = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    fewest = Math.min(fewest, (await chat.view()).replicasServing);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await over;
  return fewest;
}

describe('a revision', () => {
  test('whose image is missing backs off, says so, and takes nobody that serves; undone, it is as before', async () => {
    const fewest = await fewestServing(async () => {
      plane.node.behaviour.failStart = { cause: 'bad-image', whose: 'user', message: 'no such image' };
      await chat.apply({ image: 'missing:1' });
      const { retryAt } = await chat.until('it backs off', ({ failuresInARow }) => failuresInARow === 2);
      expect(Date.parse(retryAt ?? '') - Date.now()).toBeGreaterThan(5_000);
      expect((await chat.events()).join('\n')).toContain('2 failures in a row of revision 2: the next replica in 10 s');
      await chat.undo();
      await chat.settled(3, 1);
    });
    expect(fewest).toBe(3);
  });

  test('that never serves goes back by itself after its time, and says why', async () => {
    plane.node.behaviour.passesChecks = false;
    const fewest = await fewestServing(async () => {
      await chat.apply({ image: 'never:1', rolloutTimeoutSeconds: 1 });
      await chat.settled(3, 1);
    });
    expect(fewest).toBe(3);
    expect((await chat.events()).join('\n')).toContain('revision 3 did not serve within 1 s: back to revision 1');
  });

  test('that is good takes over at a new count, a replica dies meanwhile, and those that are wanted serve all along', async () => {
    await chat.matured();
    const fewest = await fewestServing(async () => {
      await Promise.all([
        chat.apply({ image: 'engine:4', strategy: { kind: 'rolling', surge: '100%' } }),
        chat.scale(4),
      ]);
      await chat.until('both serve', ({ replicas }) => new Set(replicas.map(({ revision }) => revision)).size === 2);
      await chat.kill((await chat.view()).replicas.find(({ revision }) => revision === 1)?.sessionId ?? '');
      await chat.settled(4, 4, 60_000);
    });
    expect(fewest).toBeGreaterThanOrEqual(2);
  });
});

test('a replica with a request in flight gets its grace, then it is stopped', async () => {
  const { replicas } = await chat.view();
  const inFlight = replicas.map(({ sessionId }) => ({ sessionId, count: 1 }));
  const traffic = { requests: 4, failures: 0, queued: 0, seconds: 1, lastRequestMs: Date.now(), refused: [] };
  await plane.store.deployments.recordTraffic('gateway-1', [{ deploymentId: chat.id, ...traffic, inFlight }]);
  await chat.scale(3);
  await chat.until('one drains', (view) => view.replicas.some(({ route }) => route === 'DRAINING'));
  const begun = Date.now();
  await chat.settled(3, 4);
  expect(Date.now() - begun).toBeGreaterThan(700);
});

test('one whose starts fail again and again accuses no node: it is one suspect, however many sessions it makes', async () => {
  await setPolicy(plane, { blackHoleFailures: 2 });
  plane.node.behaviour.failStart = { cause: 'pull-failed', whose: 'platform', message: 'no such host' };
  const bad = await openServePlane(plane, 'bad', { replicas: 1 });
  await bad.until('two of its replicas failed', ({ failuresInARow }) => failuresInARow >= 2);
  expect(await plane.store.nodes.get('n1')).toMatchObject({ state: 'READY' });
  await bad.end();
  await bad.ended();
});

test('one that is ended stops its replicas, its workflow ends, and nothing is held', async () => {
  broken = { step: 'deploymentWork', when: 'after' };
  await chat.end();
  expect(await chat.ended()).toContain('has ended');
  expect((await chat.view()).state).toBe('ENDED');
  await plane.settled();
});
