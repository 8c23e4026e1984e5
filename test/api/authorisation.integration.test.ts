import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperationId, ROUTES, type Route } from '../../src/contract/index.js';
import { newNodeToken } from '../../src/platform/tokens.js';
import { readyNode, session, startTestApi, type TestApi } from './support.js';

let api: TestApi;
const keys: Record<string, string> = {};
let otherNodeToken: string;
let bobsSession: string;

beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  keys['user'] = await api.user('bob');
  keys['reader'] = await api.user('rita', { scope: 'read' });
  keys['models'] = await api.user('molly', { scope: 'models' });
  keys['stranger'] = await api.user('eve', { domain: 'elsewhere' });
  keys['domain-admin'] = await api.user('dora', { role: 'domain-admin' });
  keys['strange-admin'] = await api.user('mallory', { domain: 'elsewhere', role: 'domain-admin' });
  keys['operator'] = api.adminKey;
  const other = newNodeToken();
  otherNodeToken = other.secret;
  await api.store.nodes.create({ name: 'node-2', group: 'default', zone: null, tokenHash: other.hash });
  bobsSession = (await api.call(keys['user'] ?? '', 'POST', '/v1/sessions', session({ name: 'secret' }))).json().id;
});
afterAll(() => api.close());

const NAMES: Readonly<Record<string, string>> = {
  session: 'secret',
  name: 'node-1',
  folder: 'none',
  scope: 'user',
  domain: 'default',
  project: 'default-work',
  user: 'bob',
  key: 'key_00000000000000000000000000',
  kernel: 'krn_00000000000000000000000000',
  attempt: '1',
};
const urlOf = ({ path }: Route, names: Readonly<Record<string, string>> = NAMES): string =>
  path.replace(/:(\w+)/g, (_whole, name: string) => names[name] ?? 'none');

const routes = Object.entries<Route>(ROUTES) as [OperationId, Route][];
const closed = routes.filter(([, { access }]) => access !== 'anyone');
const ofPeople = closed.filter(([, { access }]) => access !== 'node');

test.each(closed)(
  '%s answers 401 without a key, with a false one, and with one of another kind',
  async (_id, route) => {
    const otherKind = route.access === 'node' ? api.adminKey : api.nodeToken;
    for (const key of [null, 'nonsense', `berth_${'A'.repeat(43)}`, `berthnode_${'A'.repeat(43)}`, otherKind]) {
      const answer = await api.call(key, route.method, urlOf(route));
      expect([answer.statusCode, answer.json().code]).toEqual([401, 'unauthenticated']);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
    }
  },
);

test.each(ofPeople)('%s answers 403 to a key for models alone', async (_id, route) => {
  const body = route.method === 'GET' ? undefined : {};
  const answer = await api.call(keys['models'] ?? '', route.method, urlOf(route), body);
  expect([answer.statusCode, answer.json().code]).toEqual([403, 'forbidden']);
});

test.each(ofPeople.filter(([, { method }]) => method !== 'GET'))(
  '%s answers 403 to a key that may only read',
  async (_id, route) => {
    const answer = await api.call(keys['reader'] ?? '', route.method, urlOf(route), {});
    expect([answer.statusCode, answer.json().code]).toEqual([403, 'forbidden']);
  },
);

const RANK: Readonly<Record<string, number>> = { user: 0, 'domain-admin': 1, operator: 2 };
const tooLow = ofPeople.flatMap(([id, route]) =>
  ['user', 'domain-admin']
    .filter((role) => (RANK[role] ?? 0) < (RANK[route.access] ?? 0))
    .map((role) => [id, role, route] as const),
);
test.each(tooLow)('%s answers 403 to a %s', async (_id, role, route) => {
  const answer = await api.call(keys[role] ?? '', route.method, urlOf(route), route.method === 'GET' ? undefined : {});
  expect([answer.statusCode, answer.json().code]).toEqual([403, 'forbidden']);
});

test.each(closed.filter(([, { access }]) => access === 'node'))(
  '%s answers 403 to the token of another node',
  async (_id, route) => {
    const answer = await api.call(otherNodeToken, route.method, urlOf(route), route.method === 'GET' ? undefined : {});
    expect([answer.statusCode, answer.json().code]).toEqual([403, 'forbidden']);
  },
);

const ofSessions = routes.filter(([, { path }]) => path.startsWith('/v1/sessions/:session'));
test.each(ofSessions)("%s answers 404 for another tenant's session, by name and by id", async (id, route) => {
  const body = id === 'execSession' ? { command: ['id'] } : route.method === 'GET' ? undefined : {};
  for (const viewer of ['stranger', 'strange-admin']) {
    for (const named of ['secret', bobsSession]) {
      const answer = await api.call(keys[viewer] ?? '', route.method, urlOf(route, { session: named }), body);
      expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
    }
  }
});

const escalations: [
  title: string,
  who: string,
  method: string,
  url: string,
  body: object | undefined,
  status: number,
][] = [
  [
    'a domain-admin makes no project in another domain',
    'strange-admin',
    'POST',
    '/v1/projects',
    { name: 'p', domain: 'default' },
    404,
  ],
  [
    'a domain-admin makes no user in another domain',
    'strange-admin',
    'POST',
    '/v1/users',
    { name: 'u', domain: 'default' },
    404,
  ],
  [
    'a domain-admin makes no operator',
    'domain-admin',
    'POST',
    '/v1/users',
    { name: 'u', domain: 'default', role: 'operator' },
    403,
  ],
  ["a domain-admin makes no operator's key", 'domain-admin', 'POST', '/v1/keys', { name: 'k', user: 'admin' }, 403],
  ["a user makes no other user's key", 'user', 'POST', '/v1/keys', { name: 'k', user: 'dora' }, 404],
  ["a domain-admin sets no domain's quota", 'domain-admin', 'PUT', '/v1/quotas/domain/default', { gpuCount: 99 }, 403],
  [
    'a domain-admin sets no quota of another domain',
    'strange-admin',
    'PUT',
    '/v1/quotas/user/bob',
    { gpuCount: 99 },
    404,
  ],
  ['a member changes no members', 'user', 'PUT', '/v1/domains/default/projects/default-work/members/eve', {}, 403],
  [
    'a stranger changes no members',
    'stranger',
    'PUT',
    '/v1/domains/default/projects/default-work/members/eve',
    {},
    404,
  ],
  ["nobody reads another user's quota", 'user', 'GET', '/v1/quotas/user/dora', undefined, 404],
  ['a user acts for nobody', 'user', 'GET', '/v1/me?', undefined, 403],
];
test.each(escalations)('%s', async (_title, who, method, url, body, status) => {
  const headers: Record<string, string> = url.endsWith('?') ? { 'berth-on-behalf-of': 'eve' } : {};
  const answer = await api.call(keys[who] ?? '', method, url, body, headers);
  expect(answer.statusCode).toBe(status);
});

test("an operator who acts for a user has that user's rights, and the audit log names both", async () => {
  const forBob = { 'berth-on-behalf-of': 'bob' };
  const me = await api.call(api.adminKey, 'GET', '/v1/me', undefined, forBob);
  expect(me.json()).toMatchObject({ user: 'bob', role: 'user', actingUser: 'admin' });
  const refused = await api.call(api.adminKey, 'POST', '/v1/domains', { name: 'new' }, forBob);
  expect(refused.statusCode).toBe(403);
  const made = await api.call(
    api.adminKey,
    'POST',
    '/v1/sessions',
    session({ environment: { PASSWORD: 'hunter2' } }),
    forBob,
  );
  expect(made.json()).toMatchObject({ user: 'bob', environmentNames: ['PASSWORD'] });
  const { items } = (await api.call(api.adminKey, 'GET', '/v1/audit?limit=1')).json();
  expect(items[0]).toMatchObject({
    actor: 'admin',
    onBehalfOf: 'bob',
    action: 'createSession',
    object: made.json().id,
  });
  expect(JSON.stringify(items)).not.toContain('hunter2');
});

test('a revoked key is refused by the very next request', async () => {
  const { id, secret } = (await api.call(keys['user'] ?? '', 'POST', '/v1/keys', { name: 'short' })).json();
  expect((await api.call(secret, 'GET', '/v1/me')).statusCode).toBe(200);
  expect((await api.call(keys['stranger'] ?? '', 'DELETE', `/v1/keys/${id}`)).statusCode).toBe(404);
  expect((await api.call(keys['user'] ?? '', 'DELETE', `/v1/keys/${id}`)).statusCode).toBe(204);
  expect((await api.call(secret, 'GET', '/v1/me')).statusCode).toBe(401);
});
