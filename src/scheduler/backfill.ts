import type { PlacedKernel, Reservation } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import { earliestStart, roomsAt, type Seeker, type Start, type StartMemory } from './earliest-start.js';
import { goneByMs } from './held-rooms.js';
import { timestampOf, timestampOrNull } from './moments.js';
import type { Pass } from './pass.js';
import { lengthsOf } from './runtime-bounds.js';
import { startBasis } from './start-basis.js';
import { type Timeline, takeInTime, timelineOf } from './timeline.js';

/** Who has which room when, and what is promised to those who wait. */
export interface Backfill {
  readonly timeline: Timeline;
  readonly memory: StartMemory;
  readonly reservations: Reservation[];
}

/** The room in time as it is now: those who run, rooms that are kept, and those that this pass has placed. */
export function backfillOf(pass: Pass): Backfill {
  const { base, clock, nodes } = pass;
  const { policy } = base.group;
  const running = [...pass.running.values()];
  const { fairShare } = pass;
  const timeline = timelineOf({ nodes: nodes.nodes, running, policy, nowMs: clock.nowMs, fairShare });
  for (const { session, kernels } of pass.started) startInTime(timeline, session, kernels);
  for (const id of pass.heldRooms.keys()) holdInTime(pass, timeline, id);
  return { timeline, memory: new Map(), reservations: [] };
}

export function startInTime(timeline: Timeline, session: SnapshotPending, kernels: readonly PlacedKernel[]): void {
  takeInTime(timeline, kernels, { owner: session, ...spanOf(timeline, session, timeline.nowMs) });
}

/** Under fair share the head counts on the end of the minimum runtime of what was chosen before it, as it does of what runs. */
function spanOf({ fairShare }: Timeline, session: SnapshotPending, fromMs: number) {
  const { minMs, maxMs } = lengthsOf(session);
  const span = { fromMs, untilMs: fromMs + maxMs };
  return fairShare === null ? span : { ...span, minUntilMs: fromMs + minMs };
}

/** A kept room is its session's from the moment at which the first victim leaves; without an end while that one was not read. */
export function holdInTime(pass: Pass, timeline: Timeline, sessionId: string): void {
  const held = pass.heldRooms.get(sessionId);
  if (held === undefined) return;
  const owner = held.session ?? { ...NOBODY, id: sessionId, name: sessionId };
  const kept = held.kept.map((room) => ({ ...room, kernelId: held.kernels[0]?.kernelId as PlacedKernel['kernelId'] }));
  const fromMs = Math.max(timeline.nowMs, goneByMs(held, 'first') ?? timeline.nowMs);
  if (fromMs > timeline.nowMs) takeInTime(timeline, kept, { owner, fromMs: timeline.nowMs, untilMs: fromMs });
  const span = held.session === null ? { fromMs, untilMs: Infinity } : spanOf(timeline, held.session, fromMs);
  takeInTime(timeline, held.kernels, { owner, ...span });
}

const NOBODY = {
  priority: -1,
  userId: '',
  projectId: '',
  domainId: '',
  preemptible: false,
  budgetId: null,
  minRuntimeSeconds: 0,
};

/** The earliest start of a session that is blocked, and its room then: kept from everybody behind it. Null without a bound. */
export function reserve(backfill: Backfill, seeker: Seeker): Reservation | null {
  const { timeline } = backfill;
  const start = earliestStart(backfill, seeker);
  if (!Number.isFinite(start.atMs)) return null;
  return keepStart(backfill, { seeker, start, timeline });
}

function keepStart(
  { reservations }: Backfill,
  { seeker, start, timeline }: { readonly seeker: Seeker; readonly start: Start; readonly timeline: Timeline },
): Reservation {
  const { session } = seeker;
  const kernels = roomsAt(timeline, seeker, start);
  const untilMs = start.atMs + lengthsOf(session).maxMs;
  const basis = startBasis(timeline, { session, kernels, atMs: start.atMs });
  takeInTime(timeline, kernels, { owner: session, fromMs: start.atMs, untilMs });
  const reservation = {
    sessionId: session.id,
    at: timestampOf(start.atMs),
    until: timestampOrNull(untilMs),
    basis,
    kernels: [...kernels],
  };
  reservations.push(reservation);
  return reservation;
}
