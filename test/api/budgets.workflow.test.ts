import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BudgetExplanation, Session } from '../../src/contract/index.js';
import { newKernelId } from '../../src/platform/ids.js';
import { createTemporalDoor } from '../../src/temporal/create-temporal-door.js';
import type { TemporalDoor } from '../../src/temporal/door.js';
import { runWorker } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import { sealing } from '../support/sealing.js';
import { type SimulatedNode, startSimulatedNode } from '../support/simulated-node.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { GIB, readyNode, session, startTestApi, type TestApi } from './support.js';

/** The API, the control worker and Temporal, all real, with a node of four GPUs that runs nothing. */
let temporal: TestTemporal;
let door: TemporalDoor;
let api: TestApi;
let node: SimulatedNode;
let stopWorker: () => Promise<void>;
const keys: Record<string, string> = {};
const call = (who: string, method: string, url: string, body?: object) => api.call(keys[who] ?? '', method, url, body);

beforeAll(async () => {
  temporal = await startTestTemporal();
  door = createTemporalDoor(temporal);
  api = await startTestApi({ door: () => door });
  const dependencies = {
    store: api.store,
    door,
    newKernelId,
    ...sealing,
    log: pino({ level: 'silent' }),
    count: () => undefined,
  };
  stopWorker = await runWorker({ dependencies, ...temporal });
  await readyNode(api);
  node = await startSimulatedNode({ store: api.store, door, temporal }, 'node-1');
  node.behaviour.exitAfterNoticeMs = 20;
  keys['admin'] = api.adminKey;
  for (const user of ['ann', 'bob']) {
    keys[user] = await api.user(user);
    const project = `of-${user}`;
    await call('admin', 'POST', '/v1/projects', { name: project, domain: 'default' });
    await call('admin', 'PUT', `/v1/domains/default/projects/${project}/members/${user}`, {});
    const budget = { name: user, domain: 'default', projects: [`default/${project}`] };
    const made = await call('admin', 'POST', '/v1/budgets', budget);
    if (made.statusCode !== 201) throw new Error(made.body);
  }
  const set = await call('admin', 'PATCH', '/v1/groups/default', { policy: { order: 'fair-share' } });
  if (set.statusCode !== 200) throw new Error(set.body);
});
afterAll(async () => {
  await node.stop();
  await stopWorker();
  await api.close();
  await door.close();
  await temporal.stop();
});

const FOUR = { kernels: [{ slots: { cpuMilli: 100, memoryBytes: GIB, gpuCount: 4 } }], gracePeriodSeconds: 1 };
async function submit(who: string, name: string, more: object): Promise<string> {
  const body = session({ ...FOUR, project: `of-${who}`, name, ...more });
  const made = await call(who, 'POST', '/v1/sessions', body);
  expect([made.statusCode, made.statusCode === 201 ? '' : made.body]).toEqual([201, '']);
  return made.json<Session>().id;
}
const see = async (id: string): Promise<Session> => (await call('admin', 'GET', `/v1/sessions/${id}`)).json<Session>();
const explain = async (who: string, id: string): Promise<BudgetExplanation> =>
  (await call(who, 'GET', `/v1/sessions/${id}/budget`)).json<BudgetExplanation>();
const runs = (id: string) => eventually(`${id} runs`, async () => (await see(id)).state === 'RUNNING', 30_000);
const stop = (id: string) => call('admin', 'POST', `/v1/sessions/${id}/stop`, { graceSeconds: 0 });

test('free work yields to charged work, the budget that has had less goes first, and an explanation names the hours', async () => {
  const free = await submit('ann', 'free', { resumable: true });
  await runs(free);
  expect((await see(free)).contract?.allocated).toBe(false);

  const allocated = { minRuntimeSeconds: 3600 };
  const first = await submit('ann', 'first', { budget: 'ann', ...allocated });
  await runs(first);
  expect(await see(free)).toMatchObject({ state: 'PENDING', attempt: 1 });
  const protectedUntil = (await see(first)).protectedUntil;

  const second = await submit('ann', 'second', { budget: 'ann', ...allocated });
  const other = await submit('bob', 'other', { budget: 'bob', ...allocated });
  await eventually('both are considered', async () => {
    const { items } = (await call('ann', 'GET', '/v1/groups/default/queue')).json<{ items: { name: string }[] }>();
    return items.map(({ name }) => name).join() === 'other,second,free';
  });

  const behind = await explain('ann', second);
  expect(behind).toMatchObject({
    position: 2,
    ahead: [
      {
        name: 'other',
        because: expect.stringMatching(/^bob has had less for its weight: 0 GPU-h for weight 1, ann 4(\.\d+)? GPU-h/),
      },
    ],
    charges: [{ name: 'first', gpus: 4, until: null }],
  });
  expect(behind.message).toMatch(/place 2 of 3 in default: below root bob goes first/);
  const head = await explain('bob', other);
  expect(head).toMatchObject({ position: 1, ahead: [] });
  expect((await explain('ann', first)).mayBeStoppedBy).toContain(`nobody until ${protectedUntil}`);
  const { expectedStart } = await see(other);
  expect(Date.parse(expectedStart?.at ?? '')).toBeGreaterThanOrEqual(Date.parse(protectedUntil ?? ''));

  await stop(first);
  await runs(other);
  expect((await see(second)).state).toBe('PENDING');
  await stop(other);
  await runs(second);
  await stop(second);
  await runs(free);
  expect(await see(free)).toMatchObject({ attempt: 2 });
  await stop(free);
  await eventually('it ends', async () => (await see(free)).endedAt !== null);
}, 120_000);
