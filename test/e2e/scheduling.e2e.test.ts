import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Session } from '../../src/contract/index.js';
import { removeContainers } from '../support/docker.js';
import { eventually } from '../support/process.js';
import { randomStream, type Submission } from './scheduling/random-stream.js';
import { changesTo, endAll, historyWithReturns, nodesOf, path, runsOn, whenIs } from './scheduling/sessions.js';
import { startTwoNodes, type TwoNodes, WHOLE_GPUS } from './scheduling/two-nodes.js';
import { Watcher } from './scheduling/watcher.js';

const SEED = Number(process.env['BERTH_E2E_SEED'] ?? 20_261_130);
const SESSIONS = 25;
const GIB = 2 ** 30;
/** Between what was said of a moment and the moment itself. */
const SLACK_MS = 5_000;

let two: TwoNodes;
let watcher: Watcher;
beforeAll(async () => {
  two = await startTwoNodes('scheduling');
  const preemption = { enabled: true, mode: 'requeue', scope: 'group' } as const;
  await two.client.groups.patch('default', { policy: { backfill: 'easy', preemption, lostAfterSeconds: 3 } });
  watcher = new Watcher(two.client, two.engine);
  watcher.start();
}, 240_000);
afterAll(async () => {
  await watcher.stop();
  await two.berth.remove();
  for (const name of two.names) await removeContainers(`berth.node=${name}`); // only a test that failed leaves any
});

async function submit({ spec, pauseMs, startsInMs, isWaitedFor }: Submission): Promise<Session> {
  const startsAt = startsInMs === undefined ? {} : { startsAt: new Date(Date.now() + startsInMs).toISOString() };
  const session = await two.client.sessions.create({ ...spec, ...startsAt });
  if (isWaitedFor) await whenIs(two.client, session, ['RUNNING']);
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
  return session;
}

test(`a random stream (BERTH_E2E_SEED=${SEED}) ends as each session should, whoever was stopped for whom`, async () => {
  console.log(`seed ${SEED}`);
  const { client } = two;
  const stream = randomStream(SEED, SESSIONS);
  const sessions: Session[] = [];
  for (const submission of stream) sessions.push(await submit(submission));
  const ended = await Promise.all(sessions.map(({ id }) => client.sessions.wait(id, { timeoutSeconds: 150 })));
  expect(ended.map(({ name, cause }) => `${name} ${cause}`)).toEqual(
    stream.map(({ spec, cause }) => `${spec.name} ${cause}`),
  );
  expect(ended.filter(({ attempt }) => attempt > 1).length).toBeGreaterThan(0);
});

test('a drain does what its dry run said, and what left runs on the other node', async () => {
  const { client, names, berth } = two;
  const [first, second] = names;
  const placement = { nodes: [second] };
  const gang = await client.sessions.create({
    ...runsOn('gang', {}),
    clusterMode: 'multi-node',
    kernels: ['main', 'worker'].map((role) => ({
      role,
      slots: { cpuMilli: 100, memoryBytes: 32 * 2 ** 20, gpuCount: 2 },
    })),
  });
  await whenIs(client, gang, ['RUNNING']);
  const free = await client.sessions.create(runsOn('free', { gpuMemoryBytes: 12 * GIB }, { placement }));
  const kept = await client.sessions.create(runsOn('kept', { cpuMilli: 1000 }, { placement, minRuntimeSeconds: 8 }));
  const leaving = [gang, await whenIs(client, free, ['RUNNING']), await whenIs(client, kept, ['RUNNING'])];
  const said = await berth.run('node', 'drain', second, '--dry-run');
  expect(said.stdout).toContain('kept');
  const plan = await client.nodes.dryRunDrain(second);
  expect(plan.stops.map(({ name }) => name).sort()).toEqual(['free', 'gang', 'kept']);
  await client.nodes.drain(second, { reason: 'new cables' });
  await eventually('it is drained', async () => (await client.nodes.get(second)).state === 'DRAINED', 60);
  for (const { sessionId, stopAt, goneBy } of plan.stops) {
    const history = await historyWithReturns(client, { id: sessionId });
    const [told] = changesTo(history, 'PREEMPTING');
    const gone = changesTo(history, 'PENDING').at(-1);
    expect(told?.cause).toBe('drained');
    expect(Math.abs(Date.parse(told?.at ?? '') - Date.parse(stopAt))).toBeLessThan(SLACK_MS);
    expect(Date.parse(gone?.at ?? '')).toBeLessThan(Date.parse(goneBy) + SLACK_MS);
  }
  for (const session of [free, kept]) {
    expect(nodesOf(await whenIs(client, session, ['RUNNING', 2]))).toEqual([first]);
  }
  expect((await client.sessions.get(gang.id)).state).toBe('PENDING');
  await client.nodes.uncordon(second);
  const again = await whenIs(client, gang, ['RUNNING', 2]);
  expect(new Set(nodesOf(again))).toEqual(new Set(names));
  await endAll(client, leaving);
});

test('what a share promises is what inspect, the API and its container say', async () => {
  const { client, berth, engine } = two;
  const shares = await Promise.all(
    ['one', 'two'].map((name) => client.sessions.create(runsOn(name, { gpuMemoryBytes: 16 * GIB }))),
  );
  for (const share of shares) {
    const { kernels } = await whenIs(client, share, ['RUNNING']);
    const [device] = kernels[0]?.devices ?? [];
    const { memory, compute, faults } = device?.guarantees ?? {};
    const [container] = (await engine.containers()).filter(({ sessionId }) => sessionId === share.id);
    expect(container?.guarantees).toBe(`simulated: memory ${memory}, compute ${compute}, faults ${faults}`);
    const { stdout } = await berth.run('inspect', share.name);
    expect(stdout).toContain(`share of 16Gi, by ${device?.share?.sharing}: memory limit enforced`);
  }
  await endAll(client, shares);
});

/** The first pins its sessions to the node whose agent lives, so both play at once. */
describe.concurrent('while the second node is LOST', () => {
  test('a session that is stopped for another writes its checkpoint, goes back to the queue and goes on from it', async () => {
    const { client, names, berth } = two;
    await client.folders.create({ name: 'run' });
    const placement = { nodes: [names[0]], nodesRequired: true };
    const line =
      'if [ -f /run1/at ]; then echo "goes on from $(cat /run1/at)"; exit 0; fi; trap "exit 99" USR1; sleep 600 & wait $!';
    const checkpoint =
      'sleep 2; echo "step 7 of attempt $BERTH_ATTEMPT, told $BERTH_NOTICE_SECONDS s ahead" > /run1/at; kill -USR1 1';
    const low = await client.sessions.create(
      runsOn(
        'low',
        { gpuCount: WHOLE_GPUS },
        {
          ...{ placement, priority: 10, gracePeriodSeconds: 20, resumable: true },
          command: ['sh', '-c', line],
          mounts: [{ folder: 'run', target: '/run1' }],
          notice: { command: ['sh', '-c', checkpoint] },
        },
      ),
    );
    await whenIs(client, low, ['RUNNING']);
    const high = await client.sessions.create(
      runsOn('high', { gpuCount: 1 }, { placement, priority: 50, command: ['sleep', '2'] }),
    );
    await whenIs(client, low, ['PREEMPTING']);
    const waits = await client.sessions.why(high.id);
    expect(waits).toMatchObject({ reason: 'waiting_for_victims', class: 'wait' });
    expect(waits.eta?.p90).toBeDefined();
    expect((await berth.run('why', 'high')).stdout).toContain('low');
    await whenIs(client, low, ['PENDING']);
    expect(await client.sessions.why(low.id)).toMatchObject({ class: 'wait' });
    const ended = await client.sessions.wait(low.id, { timeoutSeconds: 60 });
    expect(ended).toMatchObject({ cause: 'completed', attempt: 2 });
    expect(ended.kernels[0]?.logTail).toBe('goes on from step 7 of attempt 1, told 20 s ahead\n');
    const history = await historyWithReturns(client, low);
    const leaves = ['PENDING', 'SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING', 'PREEMPTING', 'PENDING'];
    expect(path(history).slice(0, leaves.length)).toEqual(leaves);
    expect(changesTo(history, 'PREEMPTING')).toMatchObject([
      { cause: 'preempted', message: expect.stringContaining('makes room for high') },
    ]);
  });

  test('a session of a node whose agent died runs again elsewhere, and the agent removes it when it is back', async () => {
    const { client, names, engine } = two;
    const [first, second] = names;
    const retry = { maxAttempts: 2, backoffSeconds: 0, maxBackoffSeconds: 0 };
    const session = await client.sessions.create(
      runsOn('mobile', { gpuMemoryBytes: 12 * GIB }, { placement: { nodes: [second] }, retry }),
    );
    expect(nodesOf(await whenIs(client, session, ['RUNNING']))).toEqual([second]);
    watcher.awayNode = second;
    const comeBack = await two.killSecondAgent();
    const own = async () =>
      (await engine.containers()).filter(({ sessionId, isRunning }) => isRunning && sessionId === session.id);
    try {
      await eventually('the node is LOST', async () => (await client.nodes.get(second)).state === 'LOST', 90);
      expect(nodesOf(await whenIs(client, session, ['RUNNING', 2]))).toEqual([first]);
      expect((await own()).map(({ node, attempt }) => `${node} ${attempt}`).sort()).toEqual(
        [`${first} 2`, `${second} 1`].sort(),
      );
    } finally {
      comeBack();
    }
    await eventually('the node is READY again', async () => (await client.nodes.get(second)).state === 'READY', 60);
    await eventually('the first attempt is gone', async () => (await own()).length === 1, 30);
    watcher.awayNode = undefined;
    expect((await own())[0]).toMatchObject({ node: first, attempt: 2 });
    await endAll(client, [session]);
  });
});

test('all the while nothing was promised or used twice, and nothing is left', async () => {
  const { client, engine } = two;
  const seen = await watcher.stop();
  console.log(`${seen.looks} looks, ${seen.compared} kernels compared with their containers`);
  expect(seen.problems).toEqual([]);
  expect(seen.looks).toBeGreaterThan(20);
  expect(seen.compared).toBeGreaterThan(20);
  expect(seen.gangsOverBothNodes).toBeGreaterThan(0);
  expect(seen.devicesWithTwoShares).toBeGreaterThan(0);
  expect(await two.overpromises()).toBe(0);
  await eventually('no container is left', async () => (await engine.containers()).length === 0, 30);
  expect(await client.sessions.list({ open: true }).toArray()).toEqual([]);
  for (const { used, devices } of await client.nodes.list().toArray()) {
    expect(used).toEqual({ cpuMilli: 0, memoryBytes: 0 });
    expect(devices.filter(({ heldBy, shares }) => heldBy !== null || shares.length > 0)).toEqual([]);
  }
  expect(await two.brokenInvariants()).toEqual([]);
});
