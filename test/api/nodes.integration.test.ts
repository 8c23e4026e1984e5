import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DrainPlan, Node } from '../../src/contract/index.js';
import { newNodeToken } from '../../src/platform/tokens.js';
import { runningSession } from './placed.js';
import { readyNode, session, startTestApi, type TestApi } from './support.js';

let api: TestApi;
let bob: string;
beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  bob = await api.user('bob');
  await api.call(api.adminKey, 'POST', '/v1/groups', { name: 'night' });
});
afterAll(() => api.close());
/** As after a pass: nobody has been kicked, and the next who changes something kicks. */
beforeEach(async () => {
  await (await api.store.planning.openPass('default', 1000))?.close();
  api.door.kicks.splice(0);
});

afterEach(async () => void (await api.store.nodes.markHealthy('node-1', 'admin')));

const post = (url: string, body?: object) => api.call(api.adminKey, 'POST', url, body);
const node = async (name = 'node-1') => (await api.call(api.adminKey, 'GET', `/v1/nodes/${name}`)).json<Node>();

describe('a drain', () => {
  let running: string;
  beforeAll(async () => {
    const request = { name: 'train', minRuntimeSeconds: 600, gracePeriodSeconds: 30 };
    running = (await runningSession(api, bob, request)).id;
  });

  test('asked for in a dry run says who would stop when, by name, and changes nothing', async () => {
    const answer = await post('/v1/nodes/node-1/drain?dryRun=true', {});
    expect(answer.statusCode).toBe(200);
    const plan = answer.json<DrainPlan>();
    const [stop] = plan.stops;
    expect(stop).toMatchObject({ sessionId: running, name: 'train', user: 'bob', breaksMinRuntime: false });
    expect(Date.parse(stop?.goneBy ?? '') - Date.parse(stop?.stopAt ?? '')).toBe(30_000);
    expect(plan.emptyAt).toBe(stop?.goneBy);
    expect(Date.parse(plan.emptyAt ?? '') - Date.now()).toBeGreaterThan(500_000);
    expect(await node()).toMatchObject({ state: 'READY', drain: null });
    expect(api.door.kicks).toEqual([]);
  });

  test('with a deadline says whom that stops within its minimum runtime', async () => {
    const plan = (await post('/v1/nodes/node-1/drain?dryRun=true', { deadlineSeconds: 60 })).json<DrainPlan>();
    expect(plan.stops).toMatchObject([{ breaksMinRuntime: true, because: expect.stringMatching(/deadline/) }]);
    expect(Date.parse(plan.emptyAt ?? '') - Date.now()).toBeLessThan(91_000);
  });

  test('is written down with who began it and why, wakes a planner, and ends with uncordon', async () => {
    const answer = await post('/v1/nodes/node-1/drain', { reason: 'new driver', deadlineSeconds: 3600 });
    expect(answer.json<DrainPlan>().stops).toHaveLength(1);
    const draining = await node();
    expect(draining).toMatchObject({
      state: 'DRAINING',
      drain: { reason: 'new driver', actor: 'admin', remaining: 1 },
    });
    expect(api.door.kicks).toContain('default');
    const under = (await api.call(api.adminKey, 'GET', '/v1/nodes/node-1/drain')).json<DrainPlan>();
    expect(under.stops.map(({ sessionId }) => sessionId)).toEqual([running]);
    expect(Date.parse(under.emptyAt ?? '')).toBeLessThanOrEqual(Date.parse(draining.drain?.deadline ?? '') + 30_000);
    expect((await post('/v1/nodes/node-1/uncordon')).json()).toMatchObject({ state: 'READY', drain: null });
  });
});

test('a mark UNHEALTHY is set and taken away by hand, and each wakes a planner', async () => {
  const marked = await post('/v1/nodes/node-1/unhealthy', { reason: 'a fan is broken' });
  expect(marked.json()).toMatchObject({ state: 'UNHEALTHY', stateReason: expect.stringContaining('a fan is broken') });
  expect(api.door.kicks).toContain('default');
  expect((await post('/v1/nodes/node-1/healthy')).json()).toMatchObject({ state: 'READY' });
  expect((await post('/v1/nodes/node-1/unhealthy', {})).json()).toMatchObject({ code: 'invalid_request' });
});

describe('a report of its checks', () => {
  const report = (body: object, token = api.nodeToken) => api.call(token, 'POST', '/v1/nodes/node-1/health', body);
  const well = { healthy: true, reason: '', unhealthyDevices: [], images: ['busybox:1', 'python:3'] };

  test('marks the node and its devices, and a later one takes the mark away', async () => {
    const broken = {
      ...well,
      healthy: false,
      reason: 'disk full',
      unhealthyDevices: [{ id: 'sim-0', reason: 'Xid 79' }],
    };
    expect((await report(broken)).statusCode).toBe(204);
    expect(await node()).toMatchObject({ state: 'UNHEALTHY', stateReason: expect.stringContaining('disk full') });
    expect((await node()).devices.map(({ healthy }) => healthy)).toEqual([false, true, true, true]);
    expect(api.door.kicks).toContain('default');
    await report(well);
    expect(await node()).toMatchObject({ state: 'READY', images: ['busybox:1', 'python:3'] });
    expect((await node()).devices.every(({ healthy }) => healthy)).toBe(true);
  });
  test('that says what is known wakes nobody', async () => {
    await report(well);
    expect(api.door.kicks).toEqual([]);
  });
  test('takes no mark away that a person set', async () => {
    await post('/v1/nodes/node-1/unhealthy', { reason: 'by hand' });
    await report(well);
    expect((await node()).state).toBe('UNHEALTHY');
    await post('/v1/nodes/node-1/healthy');
  });
});

describe('a move', () => {
  test('in time for a moment is shown with the node, and can be cancelled', async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const moved = await post('/v1/nodes/node-1/move', { toGroup: 'night', at, repeat: 'daily' });
    expect(moved.json()).toMatchObject({ group: 'default', move: { toGroup: 'night', at, repeat: 'daily' } });
    expect(api.door.kicks).toContain('default');
    const kept = await api.call(api.adminKey, 'DELETE', '/v1/nodes/node-1/move');
    expect(kept.json()).toMatchObject({ move: null, state: 'READY' });
  });
  test.each([
    ['to a group that is not there', { toGroup: 'nowhere' }, 400, 'invalid_request'],
    ['to its own group', { toGroup: 'default' }, 409, 'conflict'],
  ])('%s is refused, in a dry run too', async (_title, body, status, code) => {
    for (const query of ['', '?dryRun=true']) {
      const answer = await post(`/v1/nodes/node-1/move${query}`, body);
      expect([answer.statusCode, answer.json().code]).toEqual([status, code]);
    }
  });
});

test('images are ordered from the node’s workflow; a node whose agent is not there takes no orders', async () => {
  expect((await post('/v1/nodes/node-1/warm', { images: ['python:3'] })).statusCode).toBe(202);
  expect(api.door.warmed).toEqual(['node-1 python:3']);
  const { hash } = newNodeToken();
  await api.store.nodes.create({ name: 'absent', group: 'default', zone: null, tokenHash: hash });
  expect((await post('/v1/nodes/absent/warm', { images: ['python:3'] })).json()).toMatchObject({ code: 'conflict' });
});

const CHANGES = ['cordon', 'uncordon', 'drain', 'unhealthy', 'healthy', 'move', 'warm'] as const;
const BODIES: Partial<Record<(typeof CHANGES)[number], object>> = {
  unhealthy: { reason: 'x' },
  move: { toGroup: 'night' },
  warm: { images: ['a:1'] },
};

describe.each(CHANGES)('%s', (change) => {
  const body = BODIES[change] ?? {};
  test.each(['', '?dryRun=true'])('of a node that is not there is a 404%s', async (query) => {
    const answer = await post(
      `/v1/nodes/none/${change}${query}`,
      change === 'uncordon' || change === 'healthy' ? undefined : body,
    );
    expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
  });
  test('in a dry run changes nothing', async () => {
    const before = await node();
    const answer = await post(
      `/v1/nodes/node-1/${change}?dryRun=true`,
      change === 'uncordon' || change === 'healthy' ? undefined : body,
    );
    expect(answer.statusCode).toBe(200);
    expect(await node()).toEqual(before);
  });
  test.each(['', '?dryRun=true'])('is for operators%s', async (query) => {
    const answer = await api.call(bob, 'POST', `/v1/nodes/node-1/${change}${query}`, body);
    expect([answer.statusCode, answer.json().code]).toEqual([403, 'forbidden']);
  });
});

test('a stop in a dry run is refused as the stop would be', async () => {
  const id = (await api.call(bob, 'POST', '/v1/sessions', session())).json<{ id: string }>().id;
  const eve = await api.user('eve', { domain: 'elsewhere' });
  const dryRun = (key: string) => api.call(key, 'POST', `/v1/sessions/${id}/stop?dryRun=true`, {});
  expect((await dryRun(eve)).json()).toMatchObject({ code: 'not_found' });
  expect((await dryRun(bob)).json()).toMatchObject({ dryRun: true });
  expect((await api.call(bob, 'GET', `/v1/sessions/${id}`)).json()).toMatchObject({ state: 'PENDING' });
});
