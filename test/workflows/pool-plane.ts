import { sweepModelSignals } from '../../activities/control/sweep-models.js';
import { createModelClaimSchema, type MemberLook, type ModelClaim } from '../../src/contract/index.js';
import { isTurnDue } from '../../src/models/is-turn-due.js';
import { GIB, nextId } from '../store/ledger.js';
import { EVERYTHING, newPool } from '../store/models.js';
import type { ControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';

/** What the one GPU of a member has for engines; each claim takes 3 GiB and needs 1 of KV cache. */
export const USABLE_BYTES = 9.5 * GIB;
export const FOOTPRINT_BYTES = 3 * GIB;
/** Of each engine that is awake its footprint is taken of it, and of a sleeper its weights: room for two and one more. */
const MEMBER = { image: 'engines:1', memoryBytes: 12 * GIB };
const DEVICE_PREFIX = 'gpu-';

/** A pool on a whole control plane, with simulated engines on node `n1` whose agent looks when it is told to. */
export interface PoolPlane {
  readonly pool: string;
  /** One look of the agent, as the API takes it. */
  look(): Promise<void>;
  claim(modelName: string): Promise<ModelClaim>;
  find(modelName: string): Promise<ModelClaim>;
  /** The claim once it is in this phase; the agent looks meanwhile. */
  until(modelName: string, ...phases: string[]): Promise<ModelClaim>;
  sleep(modelName: string): Promise<void>;
  /** As the gateway asks. */
  wake(modelName: string): Promise<void>;
  end(modelName: string): Promise<void>;
  member(): Promise<string>;
}

export async function openPoolPlane(plane: ControlPlane, pool = 'warm'): Promise<PoolPlane> {
  const { models } = plane.store;
  const by = { userId: plane.admin.userId, sealedEnvironment: null };
  const made = await models.createPool(newPool({ name: pool, member: MEMBER }), by);
  if (typeof made === 'string') throw new Error(`no pool: ${made}`);
  const member = async () => (await models.pool(pool, EVERYTHING))?.members.find(({ state }) => state === 'READY');
  const find = async (modelName: string) => {
    const found = await models.claim(modelName, EVERYTHING);
    if (found === null) throw new Error(`no claim ${modelName}`);
    return found;
  };
  const look = async () => {
    const memberSessionId = (await member())?.sessionId;
    if (memberSessionId === undefined) return;
    const devices = ((await models.snapshot(pool))?.gpus ?? [])
      .filter(({ device }) => device.startsWith(DEVICE_PREFIX))
      .map(({ device }) => ({ id: device, usableBytes: USABLE_BYTES }));
    const taken = { memberSessionId, at: new Date().toISOString(), unknownEngines: [], devices, cachedArtifacts: [] };
    const { kick, signal } = await models.recordLooks('n1', [{ ...taken, engines: enginesOf(plane) }], isTurnDue);
    for (const one of kick) await plane.door.kickPool(one);
    for (const one of signal) await plane.door.signalModel(one);
  };
  return {
    pool,
    look,
    find,
    member: async () => (await member())?.sessionId ?? '',
    async claim(modelName) {
      const perGpu = { maximumFootprint: '3Gi', kvFloor: '1Gi' };
      const asked = createModelClaimSchema.parse({ modelName, pool, artifactUrl: 'https://host/model', perGpu });
      const claimed = { claimId: nextId('mdl'), actor: 'admin', userId: plane.admin.userId };
      const created = await models.createClaim({ ...asked, project: 'default/default' }, claimed, () => null);
      if ('problem' in created) throw new Error(`no claim: ${created.problem}`);
      await plane.door.kickPool(pool);
      return created;
    },
    async until(modelName, ...phases) {
      await eventually(`${modelName} is ${phases.join(' or ')}`, async () => {
        await look();
        return phases.includes((await find(modelName)).phase);
      });
      return find(modelName);
    },
    async sleep(modelName) {
      await models.askSleep((await find(modelName)).id, 'admin');
      await plane.door.kickPool(pool);
    },
    async wake(modelName) {
      const asked = [{ claimId: (await find(modelName)).id, lastRequestMs: Date.now() }];
      for (const one of await models.askWakes(asked)) await plane.door.kickPool(one);
    },
    async end(modelName) {
      await models.endClaim((await find(modelName)).id, 'admin');
      await plane.door.kickPool(pool);
    },
  };
}

function enginesOf({ node }: ControlPlane): MemberLook['engines'] {
  return [...node.engines.engines].flatMap(([instanceId, { state, limitBytes, kvUsedBytes, running }]) =>
    state === 'none'
      ? []
      : [
          {
            instanceId,
            state: state === 'asleep' ? ('sleeping' as const) : ('ready' as const),
            limitBytes,
            kvUsedBytes,
            running,
            waiting: 0,
            completed: 0,
            memoryBytes: null,
            hostBytes: null,
            restarts: 0,
            message: null,
          },
        ],
  );
}

/** As the sweeper does it, for what was signalled and not taken. */
export const sweep = (plane: ControlPlane): Promise<number> => sweepModelSignals(plane.dependencies, 0);
