import type { ClaimReason, PoolPlan, SnapshotClaim } from '../contract/index.js';
import type { Engine, PoolState } from './pool-state.js';
import type { Turn } from './turn.js';

/** Why each claim does not serve, as it stands after the turn; null: it serves. */
export function claimReasons({ state, reasons }: Turn): PoolPlan['reasons'] {
  return state.snapshot.claims
    .filter(({ isEnding }) => !isEnding)
    .map((claim) => ({ claimId: claim.id, model: claim.model, reason: reasonOf(state, claim, reasons) }));
}

function reasonOf(state: PoolState, claim: SnapshotClaim, given: ReadonlyMap<string, ClaimReason>): ClaimReason | null {
  const engines = (state.enginesOf.get(claim.id) ?? []).filter(({ phase }) => phase !== 'STOPPING');
  if (engines.some(({ phase }) => phase === 'ACTIVE')) return null;
  const coming = engines.find(({ phase }) => phase === 'STARTING') ?? engines.find(({ phase }) => phase === 'WAKING');
  if (coming !== undefined) return given.get(claim.id) ?? comingReason(coming);
  const told = given.get(claim.id);
  if (told !== undefined) return told;
  const [sleeper] = engines;
  return sleeper === undefined ? null : { code: 'EngineSleeping', message: 'asleep', data: { gpus: gpusOf(sleeper) } };
}

function comingReason(engine: Engine): ClaimReason {
  const { phase, movesFrom } = engine;
  const gpus = gpusOf(engine);
  const where = gpus.join(', ');
  if (movesFrom !== null) return { code: 'Moving', message: `moves to ${where}`, data: { gpus, movesFrom } };
  return phase === 'WAKING'
    ? { code: 'EngineSleeping', message: `wakes on ${where}`, data: { gpus } }
    : { code: 'EngineStarting', message: `starts on ${where}`, data: { gpus } };
}

const gpusOf = ({ on }: Engine): readonly string[] => on.map(({ name }) => name);
