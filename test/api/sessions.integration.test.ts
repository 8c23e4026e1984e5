import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SessionEvent } from '../../src/contract/index.js';
import { GIB, readyNode, session, startTestApi, type TestApi } from './support.js';

let api: TestApi;
let key: string;
let base: string;
beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  key = await api.user('bob');
  base = await api.listen();
});
afterAll(() => api.close());

const submit = async (more: object = {}) => (await api.call(key, 'POST', '/v1/sessions', session(more))).json();
const gpus = (gpuCount: number) => ({ kernels: [{ slots: { cpuMilli: 100, memoryBytes: GIB, gpuCount } }] });
const stop = (id: string) => api.call(key, 'POST', `/v1/sessions/${id}/stop`, {});

test('a submission is admitted as PENDING, is found by name, waits for the pass, and is listed', async () => {
  const made = await submit({ name: 'train', labels: { team: 'blue' } });
  expect(made).toMatchObject({ state: 'PENDING', name: 'train', user: 'bob' });
  expect((await api.call(key, 'GET', '/v1/sessions/train')).json().id).toBe(made.id);
  expect((await api.call(key, 'GET', '/v1/sessions/train/why')).json()).toMatchObject({
    sessionId: made.id,
    class: 'wait',
  });
  const { items } = (await api.call(key, 'GET', '/v1/sessions?label=team:blue&state=PENDING')).json();
  expect(items.map((item: { id: string }) => item.id)).toEqual([made.id]);
  expect(api.door.kicks).toContain('default');
});

test('a stop of a waiting session cancels it, signals its workflow, and changes nothing the second time', async () => {
  const { id } = await submit();
  expect((await stop(id)).json()).toMatchObject({ state: 'CANCELLED', result: 'cancelled' });
  expect(api.door.signals.at(-1)).toMatchObject({ sessionId: id, kind: 'stop' });
  expect((await stop(id)).json().state).toBe('CANCELLED');
});

test('pages follow one another without a gap', async () => {
  const made = [await submit(), await submit(), await submit()].map(({ id }) => id as string);
  const seen: string[] = [];
  let cursor = '';
  do {
    const page = (await api.call(key, 'GET', `/v1/sessions?limit=2${cursor}`)).json();
    seen.push(...page.items.map((item: { id: string }) => item.id));
    cursor = page.nextCursor === null ? '' : `&cursor=${page.nextCursor}`;
  } while (cursor !== '');
  expect(seen).toEqual([...new Set(seen)]);
  expect(seen.slice(0, 3)).toEqual(made.toReversed());
});

const dryRuns: [title: string, body: object, want: object][] = [
  ['placed on devices', gpus(2), { outcome: 'placed', reason: null, kernels: [{ role: 'main', node: 'node-1' }] }],
  ['refused for good', gpus(9), { outcome: 'refused', reason: 'too_large_for_any_node' }],
];
test.each(dryRuns)('a dry run says: %s', async (_title, body, want) => {
  const before = (await api.call(key, 'GET', '/v1/sessions')).json().items.length;
  const answer = await api.call(key, 'POST', '/v1/sessions?dryRun=true', session(body));
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toMatchObject(want);
  expect((await api.call(key, 'GET', '/v1/sessions')).json().items).toHaveLength(before);
});

test('a dry run says what the quota would stand at, and which limit refuses it', async () => {
  await api.call(api.adminKey, 'PUT', '/v1/quotas/user/bob', { gpuCount: 3 });
  const fits = (await api.call(key, 'POST', '/v1/sessions?dryRun=true', session(gpus(2)))).json();
  expect(fits.quotaAfter).toEqual([{ scope: 'user', name: 'bob', slot: 'gpuCount', held: 2, limit: 3 }]);
  const never = (await api.call(key, 'POST', '/v1/sessions?dryRun=true', session(gpus(4)))).json();
  expect(never).toMatchObject({ outcome: 'refused', reason: 'user_quota' });
  const real = await api.call(key, 'POST', '/v1/sessions', session(gpus(4)));
  expect([real.statusCode, real.json().code]).toEqual([403, 'quota_exceeded']);
});

test('waitFor answers when it is so, and at the timeout as it is', async () => {
  const { id } = await submit();
  const startedAt = Date.now();
  const early = await api.call(key, 'GET', `/v1/sessions/${id}?waitFor=running&timeoutSeconds=0.3`);
  expect([early.json().state, Date.now() - startedAt >= 300]).toEqual(['PENDING', true]);
  const waiting = api.call(key, 'GET', `/v1/sessions/${id}?waitFor=ended&timeoutSeconds=20`);
  await stop(id);
  expect((await waiting).json().state).toBe('CANCELLED');
  expect(Date.now() - startedAt).toBeLessThan(10_000);
});

interface Streamed {
  readonly events: readonly SessionEvent[];
  readonly ended: boolean;
}
/** Reads the stream to its end, or until `count` events have come. */
async function follow(id: string, options: { lastEventId?: string; count?: number } = {}): Promise<Streamed> {
  const { lastEventId, count = Number.POSITIVE_INFINITY } = options;
  const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const headers = { authorization: `Bearer ${key}`, ...resume };
  const response = await fetch(`${base}/v1/sessions/${id}/events`, { headers });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events: SessionEvent[] = [];
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
      text = text.slice(end + 2);
      if (data !== undefined) events.push(JSON.parse(data) as SessionEvent);
      if (events.length < count) continue;
      return { events, ended: false };
    }
  }
  return { events, ended: true };
}

test('events come as they happen and end with the last change; a cut stream resumes behind its last event', async () => {
  const { id } = await submit();
  const whole = follow(id);
  const cut = await follow(id, { count: 1 });
  await stop(id);
  const { events, ended } = await whole;
  expect(ended).toBe(true);
  expect(events.at(0)).toMatchObject({ kind: 'state', to: 'PENDING' });
  expect(events.at(-1)).toMatchObject({ kind: 'state', to: 'CANCELLED' });
  const rest = await follow(id, { lastEventId: cut.events.at(-1)?.id ?? '' });
  expect([...cut.events, ...rest.events]).toEqual(events);
  const history = (await api.call(key, 'GET', `/v1/sessions/${id}/history`)).json();
  expect(history.items).toEqual(events);
});

test('a stream that is resumed behind the last event ends at once', async () => {
  const { id } = await submit();
  await stop(id);
  const last = (await follow(id)).events.at(-1)?.id ?? '';
  expect(await follow(id, { lastEventId: last })).toEqual({ events: [], ended: true });
});

test('logs of a session that is not placed are a conflict, and a silent agent is 503 with Retry-After', async () => {
  const { id } = await submit();
  expect((await api.call(key, 'GET', `/v1/sessions/${id}/logs`)).json().code).toBe('conflict');
  expect((await api.call(key, 'GET', `/v1/sessions/${id}/logs?kernel=nobody`)).json().code).toBe('not_found');
});

test('secrets of a submission are sealed in the ledger', async () => {
  const spec = {
    environment: { TOKEN: 'tell-no-one' },
    registryCredentials: { username: 'u', password: 'tell-no-one' },
  };
  const { id } = await submit(spec);
  const { submission } = (await api.store.sessions.readAdmission(id)) ?? {};
  expect(submission?.sealedSecrets?.length).toBeGreaterThan(0);
  expect(JSON.stringify([submission?.spec, submission?.sealedSecrets?.toString('latin1')])).not.toContain(
    'tell-no-one',
  );
});
