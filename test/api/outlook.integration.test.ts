import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Session } from '../../src/contract/index.js';
import { pass, runningSession } from './placed.js';
import { GIB, readyNode, session, startTestApi, type TestApi } from './support.js';

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  key = await api.user('bob');
});
afterAll(() => api.close());

const gpus = (gpuCount: number) => ({ kernels: [{ slots: { cpuMilli: 100, memoryBytes: GIB, gpuCount } }] });

const mistakes: [title: string, body: object, pointer: string][] = [
  ['a group that is not there', { group: 'nowhere' }, '/group'],
  ['a project of others', { project: 'nobodys' }, '/project'],
  ['a dependency that one cannot see', { dependsOn: [{ session: 'nothing' }] }, '/dependsOn/0/session'],
];
test.each(mistakes)('%s is refused alike, submitted or in a dry run', async (_title, body, pointer) => {
  for (const url of ['/v1/sessions', '/v1/sessions?dryRun=true']) {
    const answer = await api.call(key, 'POST', url, session(body));
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'invalid_request']);
    expect(answer.json().errors).toMatchObject([{ pointer }]);
  }
});

test('a dry run tells when it would start, on what basis, at which place, and after whom', async () => {
  const first = await runningSession(api, key, { ...gpus(4), maxRuntimeSeconds: 600, gracePeriodSeconds: 10 });
  const ask = async (more: object = {}) =>
    (await api.call(key, 'POST', '/v1/sessions?dryRun=true', session({ ...gpus(1), ...more }))).json();
  const waits = await ask();
  expect(waits).toMatchObject({ outcome: 'waits', reason: 'insufficient_capacity', position: 1, wouldStop: [] });
  const latest = Date.parse(first.startedAt ?? '') + 610_000;
  expect(Date.parse(waits.estimatedStart)).toBe(latest);
  expect(waits.estimateBasis).toContain(first.name);

  const { id } = (await api.call(key, 'POST', '/v1/sessions', session(gpus(1)))).json<Session>();
  await pass(api);
  const why = (await api.call(key, 'GET', `/v1/sessions/${id}/why`)).json();
  expect(why).toMatchObject({ reason: 'insufficient_capacity', etaUnknownBecause: null });
  expect(Date.parse(why.eta.p90)).toBe(latest);
  const { items } = (await api.call(key, 'GET', '/v1/groups/default/queue')).json();
  expect(items).toMatchObject([{ sessionId: id, position: 1, gpusAhead: 0 }]);
});
