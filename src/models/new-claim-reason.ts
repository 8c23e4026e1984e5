import type { ClaimReason, CreateModelClaim, PoolSnapshot } from '../contract/index.js';
import { neverHere } from './no-room.js';
import { poolState } from './pool-state.js';

/** Why a claim that is just made cannot be placed at all, as the planner's next turn will say it; null: it may be. */
export function newClaimReason(
  snapshot: PoolSnapshot,
  { perGpu, kvMin }: Pick<CreateModelClaim, 'perGpu' | 'kvMin'>,
): ClaimReason | null {
  const kvFloorBytes = Math.max(perGpu.kvFloor, kvMin ?? 0);
  const claim = { footprintBytes: perGpu.maximumFootprint, kvFloorBytes, failedForGood: null };
  return neverHere(poolState(snapshot, 0), claim);
}
