import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ModelClaim, type Pool, type PoolGpuView, ROUTES, type Route } from '../../src/contract/index.js';
import { newNodeToken } from '../../src/platform/tokens.js';
import { runningMember } from './pool-member.js';
import { GIB, readyNode, startTestApi, type TestApi } from './support.js';

let api: TestApi;
const keys: Record<string, string> = {};
type Answer = Awaited<ReturnType<TestApi['call']>>;
const as = (
  who: string,
  method: string,
  url: string,
  body?: object,
  headers?: Record<string, string>,
): Promise<Answer> => api.call(keys[who] ?? '', method, url, body, headers);
const claimBody = (modelName: string, more: object = {}) => ({
  modelName,
  pool: 'chat',
  artifactUrl: 'huggingface://models/a',
  perGpu: { maximumFootprint: '6Gi', kvFloor: '2Gi' },
  ...more,
});
const claim = (who: string, name: string, more: object = {}, headers?: Record<string, string>) =>
  as(who, 'POST', '/v1/model-claims', claimBody(name, more), headers);
const chat = {
  name: 'chat',
  member: { image: 'engine:1', gpus: 2, memoryBytes: 4 * GIB, environment: { HF_TOKEN: 'hunter2' } },
  projects: ['default-work'],
};

beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  keys['ann'] = await api.user('ann');
  keys['bob'] = await api.user('bob');
  keys['dora'] = await api.user('dora', { role: 'domain-admin' });
  keys['eve'] = await api.user('eve', { domain: 'elsewhere' });
  keys['admin'] = api.adminKey;
  const made = await as('admin', 'POST', '/v1/pools', chat);
  if (made.statusCode !== 201) throw new Error(made.body);
});
afterAll(() => api.close());

describe('a pool', () => {
  test('is seen by the projects that may use it, without the values of its environment', async () => {
    const seen = (await as('ann', 'GET', '/v1/pools')).json<{ items: Pool[] }>().items;
    expect(seen).toMatchObject([
      { name: 'chat', project: 'default/default', projects: ['default/default-work'], membersWanted: 1, claims: 0 },
    ]);
    expect((await as('eve', 'GET', '/v1/pools')).json()).toMatchObject({ items: [] });
    for (const url of ['/v1/pools/chat', '/v1/pools/chat/gpus', '/v1/pools/none']) {
      expect((await as('eve', 'GET', url)).statusCode).toBe(404);
    }
    const told = [await as('admin', 'GET', '/v1/pools/chat'), await as('admin', 'GET', '/v1/audit?limit=50')];
    expect(told.map(({ body }) => body).join()).not.toContain('hunter2');
    expect(told[1]?.json().items[0]).toMatchObject({ action: 'createPool', object: 'chat', actor: 'admin' });
    expect(api.door.kicks).toContain('pool/chat');
  });

  const refusals: [what: string, body: object, status: number, pointer: string][] = [
    ['a name that is taken', chat, 409, '/name'],
    ['a group that is not there', { ...chat, name: 'p', group: 'none' }, 400, '/group'],
    ['a project that is not there', { ...chat, name: 'p', projects: ['lab/none'] }, 400, '/projects'],
    [
      'a project that its maker is not in',
      { ...chat, name: 'p', project: 'elsewhere/elsewhere-work' },
      400,
      '/project',
    ],
    ['a word of the policy that it does not know', { ...chat, name: 'p', policy: { nap: 1 } }, 400, '/policy/nap'],
  ];
  test.each(refusals)('is refused for %s, in a dry run, too', async (_what, body, status, pointer) => {
    for (const url of ['/v1/pools', '/v1/pools?dryRun=true']) {
      const answer = await as('admin', 'POST', url, body);
      expect([answer.statusCode, answer.json().errors[0]?.pointer]).toEqual([status, pointer]);
    }
  });

  test('is made once for a key; a change keeps what it does not name, a dry run makes none', async () => {
    const body = { ...chat, name: 'spare', members: 0, policy: { sleepAfterSeconds: 60 } };
    expect((await as('admin', 'POST', '/v1/pools?dryRun=true', body)).json()).toMatchObject({ dryRun: true });
    const key = { 'idempotency-key': 'spare-1' };
    const made = [await as('admin', 'POST', '/v1/pools', body, key), await as('admin', 'POST', '/v1/pools', body, key)];
    expect(made.map(({ statusCode }) => statusCode)).toEqual([201, 201]);
    const policy = { noWakeReserveWhileAsleep: true };
    const changed = await as('admin', 'PATCH', '/v1/pools/spare', { policy });
    expect(changed.json<Pool>().policy).toMatchObject({ ...policy, sleepAfterSeconds: 60, placement: 'spread' });
    expect((await as('admin', 'POST', '/v1/pools/spare/drain', {})).json()).toMatchObject({ isDraining: true });
    expect((await as('admin', 'DELETE', '/v1/pools/spare')).statusCode).toBe(204);
    expect((await as('admin', 'GET', '/v1/pools/spare')).statusCode).toBe(404);
    expect((await as('admin', 'PATCH', '/v1/pools/spare', { members: 1 })).statusCode).toBe(404);
  });
});

describe('a claim is refused', () => {
  const figures = (maximumFootprint: unknown, kvFloor: unknown = '2Gi') => ({ perGpu: { maximumFootprint, kvFloor } });
  const refusals: [what: string, more: object, status: number, pointer: string, message: RegExp][] = [
    ['--gpu-memory-utilization', { args: ['--gpu-memory-utilization=0.9'] }, 400, '/args/0', /perGpu/],
    [
      'a name of its own for clients',
      { args: ['-x', '--served-model-name', 'b'] },
      400,
      '/args/1',
      /name of its claim/,
    ],
    ['no F', figures(undefined), 400, '/perGpu/maximumFootprint', /is missing/],
    ['no K', { perGpu: { maximumFootprint: '1Gi' } }, 400, '/perGpu/kvFloor', /is missing/],
    ['no figures', { perGpu: undefined }, 400, '/perGpu', /is missing/],
    ['F that is not positive', figures('0'), 400, '/perGpu/maximumFootprint', /must be above 0/],
    ['K below 0', figures('1Gi', -1), 400, '/perGpu/kvFloor', /must be above 0/],
    ['F above 1 Pi', figures('1.1Pi'), 400, '/perGpu/maximumFootprint', /must not be above 1Pi/],
    ['a part of a byte below 1 Mi', figures('1Gi', '0.3Ki'), 400, '/perGpu/kvFloor', /whole bytes below 1Mi/],
    ['kvMax below K', { kvMax: '1Gi' }, 400, '/kvMax', /below perGpu.kvFloor/],
    ['more GPUs than a member has', { parallel: { tensor: 4 } }, 400, '/parallel', /is 4, and a member .* has 2/],
    ['a pool that is not there', { pool: 'none' }, 404, '/pool', /not there for this project/],
    ['a key that it does not know', { gpuMemory: 1 }, 400, '/gpuMemory', /unknown key/],
  ];
  test.each(refusals)('for %s', async (_what, more, status, pointer, message) => {
    for (const url of ['/v1/model-claims', '/v1/model-claims?dryRun=true']) {
      const answer = await as('ann', 'POST', url, claimBody('refused', more));
      const { errors } = answer.json<{ errors: { pointer: string; message: string }[] }>();
      expect([answer.statusCode, errors[0]?.pointer]).toEqual([status, pointer]);
      expect(errors[0]?.message).toMatch(message);
    }
  });
  test('by the same 404 for a pool that is not there and for one that the project may not use', async () => {
    const [foreign, none] = [await claim('eve', 'm'), await claim('eve', 'm', { pool: 'none' })];
    expect([foreign.statusCode, none.statusCode]).toEqual([404, 404]);
    expect(foreign.json().detail).toBe(none.json().detail.replace('none', 'chat'));
    expect((await claim('eve', 'm', { project: 'default/default-work' })).statusCode).toBe(404);
  });
});

describe('a claim', () => {
  test('is made once for a key, is dry run without a trace, and its name is taken then', async () => {
    const dry = await as('ann', 'POST', '/v1/model-claims?dryRun=true', claimBody('qwen/qwen3:8b'));
    expect([dry.statusCode, dry.json().dryRun]).toEqual([200, true]);
    const key = { 'idempotency-key': 'qwen-1' };
    const made = [await claim('ann', 'qwen/qwen3:8b', {}, key), await claim('ann', 'qwen/qwen3:8b', {}, key)];
    expect(made.map(({ statusCode, headers }) => [statusCode, headers['idempotency-replayed']])).toEqual([
      [201, undefined],
      [201, 'true'],
    ]);
    const { id, project, phase } = made[0]?.json<ModelClaim>() ?? ({} as ModelClaim);
    expect([project, phase, made[1]?.json().id]).toEqual(['default/default-work', 'PENDING', id]);
    expect(api.door.kicks).toContain(`model/${id}`);
    const again = await claim('bob', 'qwen/qwen3:8b');
    expect([again.statusCode, again.json().errors[0]?.pointer]).toEqual([409, '/modelName']);
    const byName = await as('bob', 'GET', `/v1/model-claims/${encodeURIComponent('qwen/qwen3:8b')}`);
    expect(byName.json()).toMatchObject({ id });
    const { items } = (await as('admin', 'GET', '/v1/audit?limit=5')).json();
    expect(items[0]).toMatchObject({ actor: 'ann', action: 'createModelClaim', object: id });
  });

  const ofClaims = Object.entries<Route>(ROUTES).filter(([, { path }]) => path.startsWith('/v1/model-claims/:claim'));
  test.each(ofClaims)("%s answers 404 for another project's claim, by name and by id", async (_id, route) => {
    const { id } = (await as('ann', 'GET', '/v1/model-claims?limit=1')).json<{ items: ModelClaim[] }>().items[0] ?? {
      id: '',
    };
    for (const named of [id, encodeURIComponent('qwen/qwen3:8b'), 'none']) {
      const url = route.path.replace(':claim', named);
      const answer = await as('eve', route.method, url, route.method === 'GET' ? undefined : {});
      expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
    }
    expect((await as('eve', 'GET', '/v1/model-claims')).json().items).toEqual([]);
  });

  test('out of a folder only by who may read it', async () => {
    const hidden = await claim('ann', 'kept', { artifactUrl: 'folder://none' });
    expect([hidden.statusCode, hidden.json().errors[0]?.pointer]).toEqual([400, '/artifactUrl']);
  });

  test('changes its figures, priority, bounds and sleep, and refuses all else by name', async () => {
    await claim('ann', 'changing', { sleep: { afterSeconds: 30 } });
    const url = '/v1/model-claims/changing';
    const fixed = await as('bob', 'PATCH', url, { artifactUrl: 'folder://b', priority: 1, replicas: 2 });
    expect(fixed.json<{ errors: object[] }>().errors).toEqual([
      { pointer: '/artifactUrl', message: expect.stringMatching(/cannot change after creation .*: make a new claim/) },
      { pointer: '/replicas', message: expect.any(String) },
    ]);
    const change = { perGpu: { kvFloor: '3Gi' }, kvMax: '9Gi', priority: 2, sleep: { never: true } };
    expect((await as('bob', 'PATCH', url, change)).json()).toMatchObject({
      maximumFootprintBytes: 6 * GIB,
      kvFloorBytes: 3 * GIB,
      kvMaxBytes: 9 * GIB,
      priority: 2,
      sleep: { afterSeconds: 30, never: true },
    });
    const below = await as('bob', 'PATCH', url, { kvMax: '1Gi' });
    expect([below.statusCode, below.json().errors[0]?.pointer]).toEqual([400, '/kvMax']);
    const history = (await as('ann', 'GET', `${url}/history`)).json();
    expect(history.items.map(({ kind, actor }: { kind: string; actor: string }) => [kind, actor])).toEqual([
      ['claimed', 'ann'],
      ['changed', 'bob'],
    ]);
    expect((await as('ann', 'GET', `${url}/suggest`)).json()).toMatchObject({
      maximumFootprintBytes: null,
      message: expect.stringMatching(/nothing was measured/),
    });
  });

  test('is asked to wake and to sleep, but a pinned one never sleeps; ended twice it is ended once', async () => {
    await claim('ann', 'rock', { pinned: true });
    expect((await as('ann', 'POST', '/v1/model-claims/rock/sleep', {})).statusCode).toBe(409);
    expect((await as('ann', 'POST', '/v1/model-claims/rock/wake', {})).statusCode).toBe(202);
    const ended = await as('bob', 'DELETE', '/v1/model-claims/rock');
    expect([ended.statusCode, ended.json().phase]).toEqual([202, 'STOPPING']);
    expect((await as('bob', 'DELETE', `/v1/model-claims/${ended.json().id}`)).statusCode).toBe(202);
    expect((await as('admin', 'DELETE', '/v1/pools/chat')).json()).toMatchObject({
      code: 'conflict',
      hint: expect.stringMatching(/berth model ls --pool chat/),
    });
  });
});

const namesOf = (gpus: readonly PoolGpuView[]): string[] =>
  gpus.flatMap(({ tenants }) => tenants.map(({ model }) => model)).toSorted();

describe('with a member that runs', () => {
  beforeAll(async () => {
    await runningMember(api, 'chat');
  });

  test('a claim above every GPU is recorded and called too large at once, with the largest', async () => {
    const huge = await claim('ann', 'huge', { perGpu: { maximumFootprint: '90Gi', kvFloor: '10Gi' } });
    expect([huge.statusCode, huge.json<ModelClaim>().reason?.code]).toEqual([201, 'TooLargeForAnyGpu']);
    expect(huge.json<ModelClaim>().reason?.message).toMatch(/needs 100 GiB; .*20 GiB/);
    const read = (await as('ann', 'GET', '/v1/model-claims/huge')).json<ModelClaim>();
    expect(read.reason).toEqual(huge.json<ModelClaim>().reason);
  });

  test('its GPUs show what is promised, without the names of other projects’ models', async () => {
    const gpus = async (who: string) =>
      (await as(who, 'GET', '/v1/pools/chat/gpus')).json<{ items: PoolGpuView[] }>().items;
    const [own, all] = [await gpus('ann'), await gpus('admin')];
    expect(all.map(({ usableBytes }) => usableBytes)).toEqual([20 * GIB, 20 * GIB]);
    for (const seen of [own, all]) expect(namesOf(seen)).toEqual(['changing', 'qwen/qwen3:8b']);
    await as('admin', 'PATCH', '/v1/pools/chat', { projects: ['default-work', 'elsewhere/elsewhere-work'] });
    expect(namesOf(await gpus('eve'))).toEqual(['(another project)', '(another project)']);
  });

  test('a raise that does not fit beside its neighbours is refused with the room that there is', async () => {
    const refused = await as('ann', 'PATCH', '/v1/model-claims/changing', { kvMax: null, perGpu: { kvFloor: '15Gi' } });
    expect([refused.statusCode, refused.json().errors[0]]).toEqual([
      400,
      { pointer: '/perGpu/kvFloor', message: expect.stringMatching(/needs 21 GiB, and node-1\/\d has 20 GiB for it/) },
    ]);
  });

  test('an engine order is handed to the node where the engine is, with the values of the environment', async () => {
    const found = (await as('ann', 'GET', '/v1/model-claims/changing')).json<ModelClaim>().instances[0]?.id;
    const order = await api.call(api.nodeToken, 'GET', `/v1/nodes/node-1/engine-orders/${found}`);
    const secrets = { apiKey: 'engine-key', environment: { HF_TOKEN: 'hunter2' } };
    expect(order.json()).toMatchObject({ modelName: 'changing', ...secrets });
    expect((await api.call(api.nodeToken, 'GET', '/v1/nodes/node-1/engine-orders/eng_none')).statusCode).toBe(404);
    const { secret, hash } = newNodeToken();
    await api.store.nodes.create({ name: 'node-2', group: 'default', zone: null, tokenHash: hash });
    expect((await api.call(secret, 'GET', `/v1/nodes/node-2/engine-orders/${found}`)).statusCode).toBe(404);
  });

  test('the page of metrics has the account of each GPU, and models by phase and reason', async () => {
    const { body } = await as('admin', 'GET', '/metrics');
    expect(body).toMatch(/^berth_pool_gpu_usable_bytes\{pool="chat",gpu="node-1\/0",.*\} 21474836480$/m);
    expect(body).toMatch(/^berth_pool_gpu_promised_bytes\{pool="chat",gpu="node-1\/\d",.*\} 9663676416$/m);
    expect(body).toMatch(/^berth_model_claims\{pool="chat",phase="STARTING",reason="EngineStarting",.*\} 2$/m);
    expect(body).toMatch(/^berth_model_wake_failures_total\{pool="chat",.*\} 0$/m);
  });
});

describe('limits of a key', () => {
  const limits = { models: ['qwen/qwen3:8b'], requestsPerMinute: 60, tokensPerMinute: null };
  test('are set by its owner and its admins, and by nobody else', async () => {
    const { id } = (await as('ann', 'POST', '/v1/keys', { name: 'app', scope: 'read' })).json<{ id: string }>();
    const url = `/v1/model-keys/${id}/limits`;
    expect((await as('ann', 'GET', url)).json()).toEqual({
      keyId: id,
      models: null,
      requestsPerMinute: null,
      tokensPerMinute: null,
    });
    expect((await as('ann', 'PUT', url, limits)).json()).toEqual({ keyId: id, ...limits });
    expect((await as('dora', 'PUT', url, { requestsPerMinute: 5 })).json()).toMatchObject({
      models: null,
      requestsPerMinute: 5,
    });
    for (const who of ['bob', 'eve']) {
      expect((await as(who, 'GET', url)).statusCode).toBe(404);
      expect((await as(who, 'PUT', url, limits)).statusCode).toBe(404);
    }
    expect((await as('ann', 'PUT', url, { requestsPerMinute: 0 })).statusCode).toBe(400);
    expect((await as('ann', 'PUT', '/v1/model-keys/none/limits', limits)).statusCode).toBe(404);
  });
  test('of usage, everybody sees that of its own projects', async () => {
    for (const who of ['ann', 'eve', 'admin']) {
      expect((await as(who, 'GET', '/v1/model-usage?model=qwen')).json()).toEqual({ items: [], nextCursor: null });
    }
  });
});
