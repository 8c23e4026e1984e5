import type { SnapshotPending } from '../contract/snapshot.js';
import { holdInTime } from './backfill.js';
import type { Told } from './consider.js';
import { keepRoom } from './held-rooms.js';
import { msOf, wakeAt } from './moments.js';
import type { Pass } from './pass.js';
import { type Asked, noneFor, planVictims } from './plan-victims.js';
import type { NoVictims } from './preemption.js';
import { promisedNodes } from './promised-nodes.js';
import { tellToGo } from './tell-to-go.js';
import { goneInTime } from './timeline.js';
import { waitingForVictims } from './waiting-for-victims.js';

/** Stops whom the policy or a guarantee lets it stop, if that makes room, and keeps that room; else says why nobody. */
export function makeRoom(pass: Pass, session: SnapshotPending, asked: Asked): Told | NoVictims | null {
  if (pass.preemption === null) return null;
  const found =
    pass.fairShare === null
      ? planVictims(pass.preemption, session)
      : (noneFor(pass.preemption, session, asked) ??
        planVictims(pass.preemption, session, { closed: promisedNodes(pass, session), asked }));
  if ('none' in found) {
    if (found.earliest !== null) wakeAt(pass.clock, msOf(found.earliest));
    return found;
  }
  pass.stops.push(...found.stops);
  pass.holds.push(found.hold);
  const goneMs = tellToGo(pass.running, found.stops, pass.clock);
  const held = keepRoom(pass.ranking, found.hold, pass.running);
  held.session = session;
  pass.heldRooms.set(session.id, held);
  if (pass.backfill !== null) {
    goneInTime(pass.backfill.timeline, goneMs);
    holdInTime(pass, pass.backfill.timeline, session.id);
  }
  return { ...waitingForVictims(held, pass.clock.nowMs), message: found.message, expectedStart: found.expectedStart };
}
