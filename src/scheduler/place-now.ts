import type { PlacedKernel } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import type { Assignment } from './assignment.js';
import { type Demand, shapeKey } from './demand.js';
import type { Seeker } from './earliest-start.js';
import { someMove } from './nodes-open-to.js';
import type { Pass } from './pass.js';
import { nodesToTry, place, unplace } from './place.js';
import { isAhead, placeAhead } from './place-ahead.js';
import { placedKernelsOf } from './rooms.js';

/** Room that is found and taken from the table. */
export interface Found {
  readonly kernels: readonly PlacedKernel[];
  readonly explanation: string;
}

/** Why there is none now. `where` is room that is free now and promised to somebody before it would be free again. */
export type NotFound = 'no-room' | 'gave-up' | { readonly where: readonly PlacedKernel[] };

/**
 * Room now, beside what is kept for others, and ahead of those who have a reservation only where that delays none. What
 * found no room once finds none later in the pass: a shape is tried once, until room was given up.
 */
export function placeNow(
  pass: Pass,
  session: SnapshotPending,
  { demand, shape }: { readonly demand: Demand; readonly shape: string },
): Found | { readonly notFound: NotFound } {
  const { ranking, backfill } = pass;
  if (pass.fullShapes.has(shape)) return { notFound: 'no-room' };
  const attempt = place(ranking, demand);
  if (typeof attempt === 'string') {
    if (attempt === 'no-room') pass.fullShapes.add(shape);
    return { notFound: attempt };
  }
  if (backfill === null || backfill.reservations.length === 0) return found(pass, session, attempt);
  const seeker = seekerOf(pass, session, { demand, shape });
  if (isAhead({ backfill, seeker }, attempt)) return found(pass, session, attempt);
  const where = found(pass, session, attempt).kernels;
  unplace(ranking, demand, attempt);
  const ahead = placeAhead({ ranking, backfill, seeker }, demand);
  if (typeof ahead === 'string') return { notFound: ahead === 'gave-up' ? ahead : { where } };
  return found(pass, session, ahead);
}

/** Equal for requests that find the same room: their shape, and the nodes that they avoid. */
export function shapeOf({ nodes }: Pick<Pass, 'nodes'>, demand: Demand): string {
  const shape = shapeKey(demand, someMove(nodes));
  return demand.avoid.length === 0 ? shape : `${shape}-${demand.avoid.toSorted().join()}`;
}

export function seekerOf(
  { ranking, clock }: Pass,
  session: SnapshotPending,
  { demand, shape }: { readonly demand: Demand; readonly shape: string },
): Seeker {
  return { session, mask: nodesToTry(ranking, demand), shape, fromMs: clock.nowMs };
}

function found({ nodes }: Pass, { kernels }: SnapshotPending, assignment: Assignment): Found {
  const asked = kernels.map(({ id, slots }) => ({ kernelId: id, slots }));
  return { kernels: placedKernelsOf(nodes, asked, assignment), explanation: assignment.explanation };
}
