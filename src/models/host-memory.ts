import type { SnapshotMember } from '../contract/index.js';
import type { Engine, PoolState } from './pool-state.js';
import type { Bytes } from './tenant.js';

/**
 * What is left of a member's host memory: engines that are awake as they were measured together (else their footprints stand
 * in), each sleeper with what it was measured to take, and each that goes to sleep with its whole footprint.
 */
export function hostRoomOf({ enginesAt }: PoolState, member: SnapshotMember): Bytes {
  let asleep = 0;
  let awake = 0;
  for (const engine of enginesAt.get(member.sessionId) ?? []) {
    if (engine.phase === 'SLEEPING') asleep += engine.row?.hostBytes ?? weightsOf(engine);
    else {
      if (engine.order === 'sleep') asleep += weightsOf(engine);
      awake += weightsOf(engine);
    }
  }
  return member.hostMemoryBytes - asleep - (member.hostUsedBytes ?? awake);
}

/** What it may take of host memory while it sleeps: the most that its weights can be, on all of its GPUs. */
export const weightsOf = ({ footprintBytes, on }: Engine): Bytes => footprintBytes * on.length;
