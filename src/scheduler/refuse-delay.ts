import type { PlacedKernel, Reservation } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import type { Blocker } from '../contract/why.js';
import { listText } from './amount-text.js';
import type { Refusal } from './explain-blocked.js';
import { msOf, timestampOf } from './moments.js';
import { lengthsOf } from './runtime-bounds.js';

interface Delay {
  readonly session: SnapshotPending;
  /** The room that it would get now. */
  readonly where: readonly PlacedKernel[];
  readonly reservations: readonly Reservation[];
  readonly nowMs: number;
}

/** There is room now, but somebody ahead of it is promised that room before it would be gone. */
export function refuseDelay({ session, where, reservations: all, nowMs }: Delay): Refusal {
  const reservations = all.filter(({ sessionId }) => sessionId !== session.id);
  const nodes = new Set(where.map(({ node }) => node));
  const untilMs = nowMs + lengthsOf(session).maxMs;
  const inItsWay = reservations.filter(
    ({ at, kernels }) => msOf(at) < untilMs && kernels.some(({ node }) => nodes.has(node)),
  );
  const told = inItsWay.length > 0 ? inItsWay.slice(0, 3) : reservations.slice(0, 1);
  const stays = Number.isFinite(untilMs) ? `may run until ${timestampOf(untilMs)}` : 'has no maximum runtime';
  const kept = told.map(({ sessionId, at, kernels }) => {
    const names = [...new Set(kernels.map(({ node }) => node))].toSorted();
    return `${names.length > 3 ? `${names.length} nodes` : listText(names)} for ${sessionId} from ${at}`;
  });
  return {
    reason: 'delays_reservation',
    message: `would fit now, but ${stays}; kept are ${kept.join('; ')}`,
    blockers: told.map(({ sessionId }): Blocker => {
      const none = { resource: null, need: null, used: null, limit: null };
      return { kind: 'session', scope: 'session', name: sessionId, ...none };
    }),
    violations: [],
    nodes: null,
  };
}
