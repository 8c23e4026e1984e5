import { memberWork } from '../../activities/control/members.js';
import { poolTurn } from '../../activities/control/pool-turn.js';
import type { MemberLook, ModelInstance, Pool } from '../../src/contract/index.js';
import { pass } from './placed.js';
import { GIB, log, type TestApi } from './support.js';

const dependenciesOf = (api: TestApi): Parameters<typeof poolTurn>[0] => {
  const sealApiKey = (instanceId: string): Buffer => api.seal.seal('engine-key', instanceId);
  return { ...api, sealApiKey, log, count: () => undefined } as unknown as Parameters<typeof poolTurn>[0];
};

/** One turn of the pool's planner, as its workflow runs it; what it would write to engines is for the caller to confirm. */
export const turn = (api: TestApi, pool: string): ReturnType<typeof poolTurn> => poolTurn(dependenciesOf(api), pool);

/** The pool's first member runs on node-1 on the ledger, and was looked at: GPUs of 20 GiB. No container is behind it. */
export async function runningMember(api: TestApi, pool: string): Promise<string> {
  await memberWork(dependenciesOf(api), pool);
  await pass(api);
  const { members } = (await api.call(api.adminKey, 'GET', `/v1/pools/${pool}`)).json<Pool>();
  const member = members[0]?.sessionId;
  if (member === undefined) throw new Error('the pool has no member');
  await api.store.sessions.begin(member, 1);
  await api.store.sessions.markRunning(member, 1);
  await looked(api, member, []);
  await turn(api, pool);
  return member;
}

/** What the agent tells of the member: engines that are ready and idle, under the limits that they have. */
async function looked(api: TestApi, member: string, engines: readonly ModelInstance[]): Promise<void> {
  const look: MemberLook = {
    memberSessionId: member,
    at: new Date().toISOString(),
    engines: engines.map(({ id, limitBytes }) => ({
      instanceId: id,
      state: 'ready',
      limitBytes,
      kvUsedBytes: 0,
      running: 0,
      waiting: 0,
      completed: 0,
      memoryBytes: null,
      hostBytes: null,
      restarts: 0,
      message: null,
    })),
    unknownEngines: [],
    devices: ['sim-0', 'sim-1'].map((id) => ({ id, usableBytes: 20 * GIB })),
    cachedArtifacts: [],
  };
  const answer = await api.call(api.nodeToken, 'POST', '/v1/nodes/node-1/member-looks', { looks: [look] });
  if (answer.statusCode !== 200) throw new Error(answer.body);
}

/** A look and a turn, with every limit confirmed as it was asked for, and every engine that is due ready. */
export async function settled(api: TestApi, pool: string): Promise<void> {
  const { models } = api.store;
  const all = async () => (await models.claims({ pool, limit: 500 }, { projects: null })).items;
  const awake = (await all()).flatMap(({ instances }) => instances).filter(({ phase }) => phase === 'ACTIVE');
  const { members } = (await api.call(api.adminKey, 'GET', `/v1/pools/${pool}`)).json<Pool>();
  for (const { sessionId } of members) {
    await looked(
      api,
      sessionId,
      awake.filter(({ member }) => member === sessionId),
    );
  }
  const { limits } = await turn(api, pool);
  for (const { memberSessionId, lower, raise } of limits) {
    const results = [...lower, ...raise].map(({ instanceId, toBytes }) => ({
      instanceId,
      limitBytes: toBytes,
      kvUsedBytes: 0,
    }));
    await models.recordLimits(pool, memberSessionId, results);
  }
  for (const { id } of await all()) {
    for (const { instanceId, seq, plannedBytes } of (await models.claimLife(id)).orders) {
      const ready = { limitBytes: plannedBytes, kvUsedBytes: 0, host: '127.0.0.1', port: 9, tookMs: 1500 };
      await models.settleOrder(instanceId, seq, { outcome: 'ready', ...ready });
    }
  }
  await turn(api, pool);
}
