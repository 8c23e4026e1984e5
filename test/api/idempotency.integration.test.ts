import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readyNode, session, startTestApi, type TestApi } from './support.js';

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  key = await api.user('bob');
});
afterAll(() => api.close());

const submit = (idempotencyKey: string, body: object, by = key) =>
  api.call(by, 'POST', '/v1/sessions', body, { 'idempotency-key': idempotencyKey });

test('100 submissions at once with one key make one session and give 100 equal ids', async () => {
  const body = session({ name: 'once' });
  const answers = await Promise.all(Array.from({ length: 100 }, () => submit('hundred', body)));
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([201]));
  expect(new Set(answers.map((answer) => answer.json().id)).size).toBe(1);
  const { items } = (await api.call(key, 'GET', '/v1/sessions?name=once')).json();
  expect(items).toHaveLength(1);
});

test('a submission that was stored before its answer failed is the one that a retry gets', async () => {
  const body = session({ name: 'broken-off' });
  vi.spyOn(api.store.sessions, 'get').mockImplementationOnce(() => Promise.reject(new Error('the connection is cut')));
  expect((await submit('broken-off', body)).statusCode).toBe(500);
  expect((await submit('broken-off', body)).statusCode).toBe(201);
  const { items } = (await api.call(key, 'GET', '/v1/sessions?name=broken-off')).json();
  expect(items).toHaveLength(1);
});

test('the same key and body answers what was answered, and says so', async () => {
  const first = await submit('again', session());
  const second = await submit('again', session());
  expect(first.headers['idempotency-replayed']).toBeUndefined();
  expect(second.headers['idempotency-replayed']).toBe('true');
  expect(second.json()).toEqual(first.json());
  expect(second.statusCode).toBe(201);
});

test('the same key with another body is refused', async () => {
  await submit('other', session());
  const answer = await submit('other', session({ priority: 50 }));
  expect([answer.statusCode, answer.json().code]).toEqual([422, 'idempotency_key_reused']);
});

test("a key is its principal's own", async () => {
  const alice = await api.user('alice');
  const [a, b] = [await submit('shared', session()), await submit('shared', session(), alice)];
  expect(a.json().id).not.toBe(b.json().id);
});

test('a refusal of admission is answered again, under the new request id', async () => {
  const body = session({ kernels: [{ slots: { cpuMilli: 100, memoryBytes: 2 ** 30, gpuCount: 9 } }] });
  const [first, second] = [await submit('never', body), await submit('never', body)];
  expect([first.statusCode, first.json().code]).toEqual([422, 'never_fits']);
  expect([second.statusCode, second.headers['idempotency-replayed']]).toEqual([422, 'true']);
  expect(second.json().instance).toBe(second.headers['x-request-id']);
});

test('a request that does not parse takes no key', async () => {
  expect((await submit('typo', { image: 3 })).statusCode).toBe(400);
  expect((await submit('typo', session())).statusCode).toBe(201);
});

test('a secret is shown again to the same key, and stands nowhere in the open', async () => {
  const make = () => api.call(key, 'POST', '/v1/keys', { name: 'robot' }, { 'idempotency-key': 'robot' });
  const [first, second] = [await make(), await make()];
  expect(second.json().secret).toBe(first.json().secret);
  const principal = (await api.call(key, 'GET', '/v1/me')).json().userId;
  const saved = await api.store.idempotency.begin({
    principal,
    route: 'createKey',
    key: 'robot',
    bodyHash: Buffer.alloc(32),
    resourceId: 'x',
  });
  expect(saved.outcome).toBe('reused');
  expect(JSON.stringify(saved)).not.toContain(first.json().secret);
});

test('a dry run makes nothing and takes no key', async () => {
  const dry = await api.call(key, 'POST', '/v1/folders?dryRun=true', { name: 'data' }, { 'idempotency-key': 'folder' });
  expect([dry.statusCode, dry.json().dryRun]).toEqual([200, true]);
  expect((await api.call(key, 'GET', '/v1/folders/data')).statusCode).toBe(404);
  const real = await api.call(key, 'POST', '/v1/folders', { name: 'data' }, { 'idempotency-key': 'folder' });
  expect(real.statusCode).toBe(201);
});
