import type { PlacedKernel, Waiting } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import type { ExpectedStart } from '../contract/why.js';
import { startInTime } from './backfill.js';
import { blocked } from './blocked.js';
import { decayStops } from './decay.js';
import { demandOf } from './demand.js';
import { endOrderOf } from './end-order.js';
import type { Refusal } from './explain-blocked.js';
import { isEntitled } from './guarantee-reclaim.js';
import { guaranteeRefusal } from './guarantee-refusal.js';
import { canStillBeHad, dropRoom, enterRoom } from './held-rooms.js';
import { makeRoom } from './make-room.js';
import { wakeAt } from './moments.js';
import type { Pass } from './pass.js';
import { placeNow, shapeOf } from './place-now.js';
import { noteNoRoom, noteRoom } from './preemption.js';
import {
  type Amounts,
  amountsOf,
  charge,
  quotaBlockers,
  quotaMessage,
  quotaReason,
  quotaViolations,
} from './quota-book.js';
import { neverRefusal, unschedulableRefusal } from './standing-refusals.js';
import { heldBack } from './time-hold.js';
import { releaseInTime } from './timeline.js';
import { waitingForVictims } from './waiting-for-victims.js';

/** What a session is told with its reason. */
export type Told = Refusal & Partial<Pick<Waiting, 'expectedStart' | 'decay'>>;

/** The cycle of one session, in the order of docs/scheduling.md: of several causes the first is told. */
export function consider(pass: Pass, session: SnapshotPending): void {
  if (ended(pass, session)) return;
  const demand = demandOf(session);
  const requested = amountsOf(demand);

  const hold = heldBack({ group: pass.base.group, clock: pass.clock }, session) ?? overQuota(pass, session, requested);
  if (hold !== null || demand.contradicts) {
    const refusal = neverRefusal(pass.standing, demand) ?? hold;
    if (refusal !== null) return wait(pass, session, refusal);
  }

  const own = ownRoom(pass, session);
  if (own === 'entered') return;
  if (own !== null) return waitForVictims(pass, session, { told: own, requested });

  const guaranteed = guaranteedToOthers(pass, session);
  if (guaranteed !== null) return wait(pass, session, neverRefusal(pass.standing, demand) ?? guaranteed);

  const shape = shapeOf(pass, demand);
  const attempt = placeNow(pass, session, { demand, shape });
  if ('kernels' in attempt) return start(pass, session, { ...attempt, requested });

  // What waits for room could be held by some node: it is not asked again for the same shape.
  if (!pass.openShapes.has(shape)) {
    const standing = neverRefusal(pass.standing, demand) ?? unschedulableRefusal(pass.standing, demand);
    if (standing !== null) return wait(pass, session, standing);
    pass.openShapes.add(shape);
  }

  // Under fair share room that is promised to the head is none: others may leave elsewhere.
  const isNone = typeof attempt.notFound === 'string' || pass.fairShare !== null;
  const made = isNone ? makeRoom(pass, session, { demand, shape }) : null;
  if (made !== null && 'reason' in made) return waitForVictims(pass, session, { told: made, requested });

  wait(pass, session, blocked(pass, session, { demand, shape, none: made, ...attempt }));
}

/**
 * Behind a session that stops the pass: who ends all the same, who has room of his own, and whose project has not what it
 * is guaranteed. False: nothing is decided.
 */
export function sweep(pass: Pass, session: SnapshotPending): boolean {
  if (ended(pass, session)) return true;
  if (!pass.heldRooms.has(session.id)) return takeGuaranteed(pass, session);
  const requested = amountsOf(demandOf(session));
  const hold = heldBack({ group: pass.base.group, clock: pass.clock }, session) ?? overQuota(pass, session, requested);
  if (hold !== null) {
    wait(pass, session, hold);
    return true;
  }
  const own = ownRoom(pass, session);
  if (own === null) return false;
  if (own !== 'entered') waitForVictims(pass, session, { told: own, requested });
  return true;
}

/** A project can always have its guaranteed GPUs, whoever waits ahead: what is free, or what it lent. */
function takeGuaranteed(pass: Pass, session: SnapshotPending): boolean {
  if (!isEntitled(pass.preemption?.book ?? null, session)) return false;
  const demand = demandOf(session);
  const requested = amountsOf(demand);
  if (demand.contradicts || keptBack(pass, session, requested) !== null) return false;
  const shape = shapeOf(pass, demand);
  const attempt = placeNow(pass, session, { demand, shape });
  if ('kernels' in attempt) {
    start(pass, session, { ...attempt, requested });
    return true;
  }
  const made = typeof attempt.notFound === 'string' ? makeRoom(pass, session, { demand, shape }) : null;
  if (made === null || !('reason' in made)) return false;
  waitForVictims(pass, session, { told: made, requested });
  return true;
}

/** A time, a dependency, the pause, a quota, what is guaranteed to others: whatever is free. */
export const keptBack = (pass: Pass, session: SnapshotPending, requested: Amounts): Refusal | null =>
  heldBack({ group: pass.base.group, clock: pass.clock }, session) ??
  quotaRefusal(pass, session, requested) ??
  guaranteedToOthers(pass, session);

const guaranteedToOthers = ({ preemption }: Pass, session: SnapshotPending): Refusal | null =>
  preemption === null || preemption.book === null ? null : guaranteeRefusal(preemption.book, session);

function ended(pass: Pass, session: SnapshotPending): boolean {
  const held = pass.heldRooms.get(session.id);
  if (held !== undefined) held.session = session;
  const end = endOrderOf(session, pass.base.group.policy, pass.clock);
  if (end === null) return false;
  pass.ends.push(end);
  giveUpRoom(pass, session.id);
  return true;
}

function giveUpRoom(pass: Pass, sessionId: SnapshotPending['id']): void {
  const held = pass.heldRooms.get(sessionId);
  if (held === undefined) return;
  dropRoom(pass.ranking, held);
  pass.heldRooms.delete(sessionId);
  pass.droppedHolds.push(sessionId);
  if (pass.preemption !== null) noteNoRoom(pass.preemption, sessionId);
  if (pass.backfill !== null) releaseInTime(pass.backfill.timeline, sessionId);
  // There is room again: what found none before may find some, and those ahead in the next pass.
  pass.fullShapes.clear();
  wakeAt(pass.clock, pass.clock.nowMs + 1_000);
}

/** Its held room: entered as soon as all of it is free, given up when it can no longer be had. null: it has none. */
function ownRoom(pass: Pass, session: SnapshotPending): Told | 'entered' | null {
  const held = pass.heldRooms.get(session.id);
  if (held === undefined) return null;
  if (enterRoom(pass.ranking, held)) {
    pass.heldRooms.delete(session.id);
    if (pass.backfill !== null) releaseInTime(pass.backfill.timeline, session.id);
    const requested = amountsOf(demandOf(session));
    const explanation = 'the room that was kept for it while others left';
    start(pass, session, { kernels: held.kernels, explanation, requested });
    return 'entered';
  }
  if (!canStillBeHad(pass.ranking, held)) {
    giveUpRoom(pass, session.id);
    return null;
  }
  return waitingForVictims(held, pass.clock.nowMs);
}

interface Starting {
  readonly kernels: readonly PlacedKernel[];
  readonly explanation: string;
  readonly requested: Amounts;
}

/** Its room is taken from the table already. */
function start(pass: Pass, session: SnapshotPending, { kernels, explanation, requested }: Starting): void {
  charge(pass.quotas, session, requested);
  pass.placed.push({ sessionId: session.id, version: session.version, kernels: [...kernels], explanation });
  pass.started.push({ session, kernels });
  if (pass.preemption !== null) noteRoom(pass.preemption, session);
  if (pass.backfill !== null) startInTime(pass.backfill.timeline, session, kernels);
}

const NOT_WORKED_OUT: ExpectedStart = { at: null, basis: 'not worked out' };

/** Under fair share nobody is left without a start, or why there is none. */
const notKnown = ({ reason, message }: Told): ExpectedStart => ({
  at: null,
  basis: `${NEVER.has(reason) ? 'never' : 'unknown'}, because ${message}`,
});
const NEVER: ReadonlySet<Told['reason']> = new Set(['misconfigured', 'no_matching_device', 'too_large_for_any_node']);

function wait(pass: Pass, session: SnapshotPending, told: Told): void {
  // Each field by name: see `blocked`.
  pass.waiting.push({
    sessionId: session.id,
    version: session.version,
    reason: told.reason,
    message: told.message,
    blockers: told.blockers,
    violations: told.violations,
    nodes: told.nodes,
    nearest: told.nearest ?? null,
    expectedStart: told.expectedStart ?? (pass.fairShare === null ? NOT_WORKED_OUT : notKnown(told)),
    decay: told.decay === undefined ? decayStops(session) : told.decay,
  });
}

/** What room is kept for counts as used from now on: nobody behind takes the quota, or the guarantee, that it will be entered with. */
function waitForVictims(
  pass: Pass,
  session: SnapshotPending,
  { told, requested }: { readonly told: Told; readonly requested: Amounts },
): void {
  charge(pass.quotas, session, requested);
  if (pass.preemption !== null) noteRoom(pass.preemption, session);
  wait(pass, session, told);
}

/** Room that its quota does not let it enter is no longer kept: nobody knows for how long it would stay empty. */
function overQuota(pass: Pass, session: SnapshotPending, requested: Amounts): Refusal | null {
  const refusal = quotaRefusal(pass, session, requested);
  if (refusal !== null) giveUpRoom(pass, session.id);
  return refusal;
}

/** All violations of its user's, project's and domain's quotas together; what this pass has placed counts as held. */
function quotaRefusal(pass: Pass, session: SnapshotPending, requested: Amounts): Refusal | null {
  const violations = quotaViolations(pass.quotas, session, requested);
  const reason = quotaReason(violations);
  if (reason === null) return null;
  return { reason, message: quotaMessage(violations), blockers: quotaBlockers(violations), violations, nodes: null };
}
