import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Session, SessionUsage } from '../../src/contract/index.js';
import { runningSession } from './placed.js';
import { readyNode, startTestApi, type TestApi } from './support.js';

let api: TestApi;
let bob: string;
let running: Session;

beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  bob = await api.user('bob');
  running = await runningSession(api, bob, { name: 'mine' });
});
afterAll(() => api.close());

const batch = (kernelId: string) => ({
  ...{ takenAt: new Date().toISOString(), ageMs: 5, everyMs: 60_000, devices: [] },
  kernels: [{ kernelId, attempt: 1, cpuNanoseconds: 7, memoryBytes: 2 ** 20 }],
});
const namesSeenBy = async (key: string) =>
  (await api.call(key, 'GET', '/v1/usage')).json<{ items: SessionUsage[] }>().items.map(({ name }) => name);

test('a node tells what it measured, once, of its own kernels alone', async () => {
  const kernelId = running.kernels[0]?.id ?? '';
  const told = batch(kernelId);
  for (let time = 0; time < 2; time += 1) {
    const answer = await api.call(api.nodeToken, 'POST', '/v1/nodes/node-1/usage', told);
    expect([answer.statusCode, answer.json()]).toEqual([200, { refused: [] }]);
  }
  const other = `krn_${'0'.repeat(26)}`;
  const answer = await api.call(api.nodeToken, 'POST', '/v1/nodes/node-1/usage', batch(other));
  expect(answer.json()).toEqual({ refused: [other] });
  const [shown] = (await api.call(bob, 'GET', '/v1/usage')).json<{ items: SessionUsage[] }>().items;
  expect(shown).toMatchObject({
    name: 'mine',
    idle: null,
    kernels: [{ kernelId, cpuMilli: null, memoryBytes: 2 ** 20 }],
  });
});

test("nobody sees the use of another tenant's sessions", async () => {
  const stranger = await api.user('eve', { domain: 'elsewhere', role: 'domain-admin' });
  expect(await namesSeenBy(stranger)).toEqual([]);
  expect(await namesSeenBy(bob)).toEqual(['mine']);
  expect(await namesSeenBy(api.adminKey)).toEqual(['mine']);
});
