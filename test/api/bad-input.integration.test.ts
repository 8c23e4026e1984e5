import { afterAll, beforeAll, expect, test } from 'vitest';
import { readyNode, session, startTestApi, type TestApi } from './support.js';

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  key = await api.user('bob');
});
afterAll(() => api.close());

const JSON_TYPE = { 'content-type': 'application/json' };
const slots = (more: object) => ({
  ...session(),
  kernels: [{ slots: { cpuMilli: 100, memoryBytes: 2 ** 30, ...more } }],
});
const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

const bodies: [title: string, body: unknown, status: number, pointer: string][] = [
  ['an unknown key', { ...session(), gpus: 3 }, 400, '/gpus'],
  ['an unknown key far down', slots({ vram: 1 }), 400, '/kernels/0/slots/vram'],
  ['a key with a slash', { ...session(), 'a/b': 1 }, 400, '/a~1b'],
  ['negative devices', slots({ gpuCount: -1 }), 400, '/kernels/0/slots/gpuCount'],
  ['half a device', slots({ gpuCount: 0.5 }), 400, '/kernels/0/slots/gpuCount'],
  ['10^9 CPUs', slots({ cpuMilli: 1e12 }), 400, '/kernels/0/slots/cpuMilli'],
  ['a number as text', slots({ gpuCount: '1' }), 400, '/kernels/0/slots/gpuCount'],
  ['a number above 2^53', slots({ memoryBytes: 1e300 }), 400, '/kernels/0/slots/memoryBytes'],
  ['a name of 10 kB', session({ name: 'a'.repeat(10_000) }), 400, '/name'],
  ['a path as a name', session({ name: '../../etc/passwd' }), 400, '/name'],
  ['NUL in an argument', session({ command: ['a\0b'] }), 400, '/command/0'],
  ['NUL in a label', session({ labels: { a: 'b\0c' } }), 400, '/labels/a'],
  ['half a surrogate pair', session({ labels: { a: '\ud800' } }), 400, '/labels/a'],
  ['a target that climbs', session({ mounts: [{ folder: 'f', target: '/a/../../b' }] }), 400, '/mounts/0/target'],
  ['a required zone without its name', session({ placement: { zoneRequired: true } }), 400, '/placement/zone'],
  ['an array', [], 400, ''],
  ['null', null, 400, ''],
  ['no body', undefined, 400, '/image'],
];
for (const [title, body, status, pointer] of bodies) {
  test(`a session with ${title} is refused with ${status} at ${JSON.stringify(pointer)}`, async () => {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const answer = await api.call(key, 'POST', '/v1/sessions', payload, body === undefined ? {} : JSON_TYPE);
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
    const problem = answer.json();
    expect(problem.code).toBe('invalid_request');
    expect(problem.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
    expect(problem.instance).toBe(answer.headers['x-request-id']);
  });
}

const raw: [title: string, payload: string | Buffer, headers: Record<string, string>, status: number, code: string][] =
  [
    ['broken JSON', '{"image":', JSON_TYPE, 400, 'invalid_request'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), JSON_TYPE, 400, 'invalid_request'],
    ['a __proto__ key', '{"__proto__":{"role":"operator"},"image":"a"}', JSON_TYPE, 400, 'invalid_request'],
    ['a constructor with a prototype', '{"constructor":{"prototype":{"a":1}}}', JSON_TYPE, 400, 'invalid_request'],
    ['a deep body', deep(5_000), JSON_TYPE, 400, 'invalid_request'],
    ['a huge body', `{"image":"${'a'.repeat(2 ** 20)}"}`, JSON_TYPE, 413, 'too_large'],
    ['another type', '<a/>', { 'content-type': 'application/xml' }, 415, 'unsupported_media'],
    ['infinity', '{"image":"a","priority":1e400}', JSON_TYPE, 400, 'invalid_request'],
  ];
for (const [title, payload, headers, status, code] of raw) {
  test(`${title} is answered ${status} ${code}`, async () => {
    const answer = await api.call(key, 'POST', '/v1/sessions', payload, headers);
    expect([answer.statusCode, answer.json().code]).toEqual([status, code]);
  });
}

const paths: [title: string, method: string, url: string, status: number, code: string][] = [
  ['an unknown query key', 'GET', '/v1/sessions?limit=5&colour=red', 400, 'invalid_request'],
  ['a limit of 0', 'GET', '/v1/sessions?limit=0', 400, 'invalid_request'],
  ['NUL in a query', 'GET', '/v1/sessions?name=a%00b', 400, 'invalid_request'],
  ['a cursor of another make', 'GET', '/v1/sessions?cursor=zzz', 200, ''],
  ['a node name that is none', 'GET', '/v1/nodes/..%2f..%2fetc', 404, 'not_found'],
  ['NUL in a path', 'GET', '/v1/sessions/a%00b', 404, 'not_found'],
  ['a path of broken escapes', 'GET', '/v1/sessions/%E0%A4%A', 400, 'invalid_request'],
  ['a session that is not there', 'GET', '/v1/sessions/ses_00000000000000000000000000', 404, 'not_found'],
  ['a path that is not there', 'GET', '/v1/nothing', 404, 'not_found'],
  ['a method that is not there', 'DELETE', '/v1/sessions', 405, 'method_not_allowed'],
  ['a quota of another scope', 'GET', '/v1/quotas/planet/earth', 404, 'not_found'],
];
for (const [title, method, url, status, code] of paths) {
  test(`${title} is answered ${status} ${code}`, async () => {
    const answer = await api.call(key, method, url);
    expect(answer.statusCode).toBe(status);
    if (code !== '') expect(answer.json()).toMatchObject({ code, type: `/docs/errors#${code}`, status });
  });
}

test('a sane request id is taken over, another is replaced', async () => {
  const sane = await api.call(key, 'GET', '/v1/me', undefined, { 'x-request-id': 'abc-1' });
  expect(sane.headers['x-request-id']).toBe('abc-1');
  const other = await api.call(key, 'GET', '/v1/me', undefined, { 'x-request-id': 'a b\u00e9' });
  expect(other.headers['x-request-id']).toMatch(/^req_/);
});

test.each([
  [
    'a guarantee for a project that is not there',
    'PATCH',
    '/v1/groups/default',
    '/policy/guarantees',
    { policy: { guarantees: [{ project: 'default/nobody', gpuCount: 1 }] } },
  ],
  [
    'an image that no engine takes, to be brought to a node',
    'POST',
    '/v1/nodes/n1/warm',
    '/images/0',
    { images: ['--privileged'] },
  ],
] as const)('%s is refused with its field', async (_title, method, path, pointer, body) => {
  const answer = await api.call(api.adminKey, method, path, JSON.stringify(body), JSON_TYPE);
  expect(answer.statusCode).toBe(400);
  expect(answer.json().errors).toMatchObject([{ pointer }]);
});
