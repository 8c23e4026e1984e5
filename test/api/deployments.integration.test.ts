import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, ROUTES, type Route } from '../../src/contract/index.js';
import { GIB, readyNode, startTestApi, type TestApi } from './support.js';

let api: TestApi;
const keys: Record<string, string> = {};
const as = (who: string, method: string, url: string, body?: object, headers?: Record<string, string>) =>
  api.call(keys[who] ?? '', method, url, body, headers);

const template = {
  image: 'berth/python:test',
  command: ['python3', '-m', 'http.server', '8000'],
  environment: { HF_TOKEN: 'hunter2' },
  slots: { cpuMilli: 1000, memoryBytes: GIB, gpuCount: 1 },
  port: 8000,
};
const wish = (more: object = {}, ofTemplate: object = {}) => ({ template: { ...template, ...ofTemplate }, ...more });
const apply = (who: string, name: string, body: object, query = '') =>
  as(who, 'PUT', `/v1/deployments/${name}${query}`, body);

beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  keys['ann'] = await api.user('ann');
  keys['bob'] = await api.user('bob');
  keys['dora'] = await api.user('dora', { role: 'domain-admin' });
  keys['eve'] = await api.user('eve', { domain: 'elsewhere' });
  keys['admin'] = api.adminKey;
  const made = await apply('ann', 'chat', wish());
  if (made.statusCode !== 200) throw new Error(made.body);
});
afterAll(() => api.close());

describe('apply', () => {
  test('makes it, kicks its workflow, tells its address, and shows no value of its environment to anybody', async () => {
    const seen = (await as('bob', 'GET', '/v1/deployments/chat')).json<Deployment>();
    expect(seen).toMatchObject({ name: 'chat', project: 'default/default-work', owner: 'ann', replicasWanted: 1 });
    expect(seen.url).toMatch(/^https?:\/\/.+\/deployments\/chat$/);
    expect(api.door.kicks).toContain(`deployment/${seen.id}`);
    const urls = ['', '/revisions', '/events', '/why'].map((rest) => `/v1/deployments/chat${rest}`);
    const told = await Promise.all([...urls, '/v1/deployments'].map((url) => as('bob', 'GET', url)));
    told.push(await as('admin', 'GET', '/v1/audit?limit=50'));
    expect(told.map(({ statusCode }) => statusCode)).toEqual(told.map(() => 200));
    expect(told.map(({ body }) => body).join()).not.toContain('hunter2');
    expect(told[1]?.json().items).toMatchObject([{ revision: 1, environmentNames: ['HF_TOKEN'] }]);
  });

  test('again with the same changes nothing; another value of a variable is another revision', async () => {
    await apply('ann', 'twice', wish());
    const rollout = (await apply('ann', 'twice', wish())).json<Deployment>().rollout;
    expect(rollout).toMatchObject({ target: 1 });
    const other = await apply('ann', 'twice', wish({}, { environment: { HF_TOKEN: 'hunter3' } }));
    expect(other.json<Deployment>().rollout).toMatchObject({ target: 2 });
  });

  test('as a dry run tells what it would be and keeps nothing', async () => {
    const told = await apply('ann', 'chat', wish({ replicas: 3 }, { command: ['sleep', '1'] }), '?dryRun=true');
    expect(told.json<Deployment>()).toMatchObject({ replicasWanted: 3, rollout: { target: 2 } });
    expect((await as('ann', 'GET', '/v1/deployments/chat')).json()).toMatchObject({ replicasWanted: 1 });
    expect((await apply('ann', 'unborn', wish(), '?dryRun=true')).statusCode).toBe(200);
    expect((await as('ann', 'GET', '/v1/deployments/unborn')).statusCode).toBe(404);
  });

  const refusals: [what: string, more: object, ofTemplate: object, status: number, pointer: string | undefined][] = [
    ['a group that is not there', { group: 'none' }, {}, 400, '/group'],
    ['a project that one is not in', { project: 'elsewhere/elsewhere-work' }, {}, 404, undefined],
    [
      'a folder of files that is not there',
      {},
      { mounts: [{ folder: 'none', target: '/data' }] },
      400,
      '/template/mounts/0/folder',
    ],
    ['a model folder that is not there', {}, { model: { folder: 'none' } }, 400, '/template/model/folder'],
    ['a template too large for every node', {}, { slots: { ...template.slots, gpuCount: 64 } }, 422, '/template/slots'],
    ['a budget that is not there', {}, { budget: 'none' }, 400, '/template/budget'],
    ['neither a port nor a preset', {}, { port: undefined }, 400, '/template/port'],
    ['a word that it does not know', { replica: 2 }, {}, 400, '/replica'],
    [
      'a rule that can never fire',
      { autoscale: { minimum: 0, maximum: 2, rules: [{ name: 'r', metric: { kind: 'queue-length' } }] } },
      {},
      400,
      '/autoscale/rules/0/upAt',
    ],
  ];
  test.each(refusals)('is refused for %s, in a dry run, too', async (_what, more, ofTemplate, status, pointer) => {
    for (const query of ['', '?dryRun=true']) {
      const answer = await apply('ann', 'refused', wish(more, ofTemplate), query);
      expect([answer.statusCode, answer.json().errors?.[0]?.pointer]).toEqual([status, pointer]);
    }
    expect((await as('ann', 'GET', '/v1/deployments/refused')).statusCode).toBe(404);
  });

  test('is refused for a name of another project and for a model name that is taken', async () => {
    expect((await apply('eve', 'chat', wish())).statusCode).toBe(409);
    await apply('ann', 'named', wish({ modelName: 'qwen' }));
    const taken = await apply('bob', 'named-too', wish({ modelName: 'qwen' }));
    expect([taken.statusCode, taken.json().errors[0].pointer]).toEqual([409, '/modelName']);
  });
});

test('scale, rollout and end change it and kick; what cannot be is a conflict', async () => {
  const post = (rest: string, body: object = {}) => as('bob', 'POST', `/v1/deployments/steps/${rest}`, body);
  const { id } = (await apply('ann', 'steps', wish())).json<Deployment>();
  api.door.kicks.length = 0;
  expect((await post('scale', { replicas: 4 })).json()).toMatchObject({ replicasWanted: 4 });
  expect((await post('rollout/pause')).json()).toMatchObject({ rollout: { paused: true } });
  expect((await post('rollout/resume')).json()).toMatchObject({ rollout: { paused: false } });
  expect((await post('rollout/resume')).statusCode).toBe(409);
  expect((await post('rollout/promote')).statusCode).toBe(409);
  expect((await post('rollout/undo', { toRevision: 9 })).statusCode).toBe(409);
  const removed = await as('bob', 'DELETE', '/v1/deployments/steps');
  expect([removed.statusCode, ['ENDING', 'ENDED'].includes(removed.json<Deployment>().state)]).toEqual([202, true]);
  expect(api.door.kicks.filter((kick) => kick === `deployment/${id}`)).toHaveLength(4);
});

test('a token is shown once, listed without its secret, and taken back', async () => {
  const url = '/v1/deployments/chat/tokens';
  const key = { 'idempotency-key': 'token-1' };
  const body = { name: 'app', expiresInSeconds: 3600 };
  const made = await as('ann', 'POST', url, body, key);
  expect([made.statusCode, made.json().token]).toEqual([201, expect.stringMatching(/^bdt_.{43}$/)]);
  expect((await as('ann', 'POST', url, body, key)).json()).toEqual(made.json());
  const listed = await as('bob', 'GET', url);
  expect(listed.json().items).toMatchObject([{ id: made.json().id, name: 'app', createdBy: 'ann' }]);
  expect(listed.body).not.toContain('bdt_');
  const statuses = [];
  for (const _try of [1, 2]) statuses.push((await as('bob', 'DELETE', `${url}/${made.json().id}`)).statusCode);
  expect(statuses).toEqual([204, 204]);
  expect((await as('bob', 'GET', url)).json().items).toEqual([]);
});

const ofOne = Object.entries<Route>(ROUTES).filter(
  ([id, { path }]) => path.startsWith('/v1/deployments/:name') && id !== 'applyDeployment',
);
const BODIES: Readonly<Record<string, object>> = {
  scaleDeployment: { replicas: 2 },
  createDeploymentToken: { name: 't' },
};
test.each(ofOne)(
  "%s answers 404 for another project's, to a member of another domain",
  async (id, { method, path }) => {
    const url = path.replace(':name', 'chat').replace(':token', 'none');
    const answer = await as('eve', method, url, method === 'GET' ? undefined : (BODIES[id] ?? {}));
    expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
  },
);

test('lists show those of the projects of the caller; an admin of the domain sees them all', async () => {
  const namesFor = async (who: string) =>
    (await as(who, 'GET', '/v1/deployments')).json<{ items: Deployment[] }>().items.map(({ name }) => name);
  expect(await namesFor('eve')).toEqual([]);
  for (const who of ['ann', 'bob', 'dora', 'admin']) expect(await namesFor(who)).toContain('chat');
});
