import {
  type CreateModelClaimInput,
  createModelClaimSchema,
  createPoolSchema,
  createSessionSchema,
  type MemberLook,
  type ModelClaim,
  type PoolPlan,
  type SessionId,
} from '../../src/contract/index.js';
import type { CommittedTurn, ModelStore } from '../../src/store/model-store.js';
import { admit, GIB, type Ledger, nextId, openLedger, placeAll } from './ledger.js';

export const EVERYTHING = { projects: null } as const;
export const USABLE_BYTES = 95 * GIB;
export const sealedKey = (instanceId: string): Buffer => Buffer.from(`sealed for ${instanceId}`);

export interface PoolLedger extends Ledger {
  readonly models: ModelStore;
  /** Session ids of the members, by ordinal. */
  readonly members: readonly string[];
}

export const newPool = (change: object = {}) => ({
  ...createPoolSchema.parse({
    name: 'warm',
    members: 1,
    member: { image: 'engines:1', memoryBytes: 2 * GIB },
    ...change,
  }),
  project: 'default/default',
  group: 'default',
});

/** Submits what the pool lacks, and takes it to RUNNING. */
export async function startMembers(ledger: Ledger, pool = 'warm'): Promise<readonly string[]> {
  const { models, idempotency, sessions } = ledger.store;
  const { submit, from } = await models.memberWork(pool);
  for (const { sessionId } of submit) {
    if (from === null) throw new Error('nothing to make members from');
    const id = sessionId as SessionId;
    const slots = { cpuMilli: 1000, memoryBytes: from.pool.member.memoryBytes, gpuCount: from.pool.member.gpus };
    const spec = createSessionSchema.parse({
      kind: 'system',
      image: from.pool.member.image,
      kernels: [{ role: 'main', slots }],
    });
    const submittedAt = new Date().toISOString();
    await idempotency.putSubmission({ sessionId: id, principal: from.owner, spec, sealedSecrets: null, submittedAt });
    await admit(ledger, id);
    await placeAll(ledger.store);
    await sessions.begin(id, 1);
    await sessions.markRunning(id, 1);
  }
  return submit.map((one) => one.sessionId);
}

/** A pool `warm` of members with a GPU each that were looked at: 95 GiB usable. */
export async function openPool(change: object = {}): Promise<PoolLedger> {
  const ledger = await openLedger();
  const { models } = ledger.store;
  const made = await models.createPool(newPool(change), { userId: ledger.admin.userId, sealedEnvironment: null });
  if (typeof made === 'string') throw new Error(`no pool: ${made}`);
  const members = await startMembers(ledger);
  const opened = { ...ledger, models, members };
  await look(opened, []);
  return opened;
}

const NEVER: Parameters<PoolLedger['models']['recordLooks']>[2] = () => false;

export const gpusOf = async ({ models }: PoolLedger): Promise<readonly string[]> =>
  ((await models.snapshot('warm'))?.gpus ?? []).map(({ name }) => name);

/** Taken a moment from now, so that it is newer than all that was written. */
export const later = (ms = 10_000): string => new Date(Date.now() + ms).toISOString();

export type EngineLook = MemberLook['engines'][number];
export const seen = (instanceId: string, change: Partial<EngineLook> = {}): EngineLook => ({
  instanceId,
  state: 'ready',
  limitBytes: 10 * GIB,
  kvUsedBytes: 0,
  running: 0,
  waiting: 0,
  completed: 0,
  memoryBytes: null,
  hostBytes: null,
  restarts: 0,
  message: null,
  ...change,
});

/** A look at the first member. */
export async function look(ledger: PoolLedger, engines: EngineLook[], change: Partial<MemberLook> = {}, isDue = NEVER) {
  const snapshot = await ledger.models.snapshot('warm');
  const memberSessionId = ledger.members[0] ?? '';
  const devices = (snapshot?.gpus ?? []).filter((gpu) => gpu.member === memberSessionId);
  const taken: MemberLook = {
    memberSessionId: memberSessionId,
    at: later(),
    engines,
    unknownEngines: [],
    devices: devices.map(({ device }) => ({ id: device, usableBytes: USABLE_BYTES })),
    cachedArtifacts: [],
    ...change,
  };
  return ledger.models.recordLooks('n1', [taken], isDue);
}

export async function claim(
  { models, admin }: PoolLedger,
  modelName: string,
  change: Partial<CreateModelClaimInput> = {},
): Promise<ModelClaim> {
  const perGpu = { maximumFootprint: '30Gi', kvFloor: '10Gi' };
  const wanted = createModelClaimSchema.parse({
    modelName,
    pool: 'warm',
    artifactUrl: `https://host/${modelName}`,
    perGpu,
    ...change,
  });
  const by = { claimId: nextId('clm'), actor: 'admin', userId: admin.userId };
  const made = await models.createClaim({ ...wanted, project: 'default/default' }, by, () => null);
  if ('problem' in made) throw new Error(`no claim: ${made.problem}`);
  return made;
}

export const emptyTurn = (change: Partial<PoolPlan> = {}): PoolPlan => ({
  places: [],
  orders: [],
  reasons: [],
  holds: [],
  calledOff: [],
  limits: [],
  planned: {},
  short: [],
  nextLookMs: null,
  ...change,
});

/** One turn with a plan of these parts. */
export async function turn({ models }: PoolLedger, change: Partial<PoolPlan>): Promise<CommittedTurn> {
  const opened = await models.openTurn('warm', 2000);
  if (opened === null || opened === 'missing') throw new Error('no turn');
  try {
    return await opened.commit(emptyTurn(change), sealedKey);
  } finally {
    await opened.close();
  }
}

export const placeOf = (
  claimId: string,
  member: string,
  gpus: readonly string[],
  replica = 0,
): PoolPlan['places'][number] => ({
  claimId,
  model: 'm',
  replica,
  member,
  gpus: [...gpus],
  movesFrom: null,
  because: 'there is room',
});

export const ready = (change: object = {}) => ({
  outcome: 'ready' as const,
  limitBytes: 10 * GIB,
  kvUsedBytes: 0,
  host: '127.0.0.1',
  port: 9000,
  tookMs: 4000,
  ...change,
});

/** The engine of the claim that lives. */
export async function engineOf({ models }: PoolLedger, claimId: string) {
  const engine = (await models.claim(claimId, EVERYTHING))?.instances[0];
  if (engine === undefined) throw new Error('it has no engine');
  return engine;
}

/** The order that is due for the claim. */
export async function orderOf({ models }: PoolLedger, claimId: string) {
  const order = (await models.claimLife(claimId)).orders[0];
  if (order === undefined) throw new Error('nothing is ordered');
  return order;
}

/** Placed on the first GPU with a limit of 10 GiB, started, and on the route. */
export async function serve(ledger: PoolLedger, modelName: string, change: Partial<CreateModelClaimInput> = {}) {
  const { id } = await claim(ledger, modelName, change);
  const [gpu = ''] = await gpusOf(ledger);
  await turn(ledger, { places: [placeOf(id, ledger.members[0] ?? '', [gpu])], planned: { [`new:${id}/0`]: 10 * GIB } });
  const { id: instanceId } = await engineOf(ledger, id);
  await ledger.models.recordLimits('warm', ledger.members[0] ?? '', [
    { instanceId, limitBytes: 10 * GIB, kvUsedBytes: 0 },
  ]);
  const { seq } = await orderOf(ledger, id);
  await ledger.models.settleOrder(instanceId, seq, ready());
  return { claimId: id, instanceId };
}

/** Ordered to sleep and slept, with so much left. */
export async function putToSleep(
  ledger: PoolLedger,
  { claimId, instanceId }: { claimId: string; instanceId: string },
  residueBytes: number | null = GIB,
) {
  await turn(ledger, {
    orders: [{ instanceId, model: 'm', kind: 'sleep', because: 'idle', for: null }],
    planned: { [instanceId]: 10 * GIB },
  });
  const { seq } = await orderOf(ledger, claimId);
  await ledger.models.settleOrder(instanceId, seq, { outcome: 'asleep', residueBytes, hostBytes: null, tookMs: 900 });
}
