import type { PlacedKernel } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import { type Demand, demandOf } from './demand.js';
import { place, unplace } from './place.js';
import type { Ranking } from './ranking.js';
import { type RoomGauge, roomGauge } from './room-gauge.js';
import { occupy, occupyIfFree, placedKernelsOf, type Room, vacate } from './rooms.js';

/** Who leaves: a gang with all its rooms. */
export interface Leaving {
  readonly session: { readonly kernels: readonly Room[] };
}

/** Those that have to go so that the session fits, in the order in which they were offered, and the room that it gets then. */
export interface LeastSet<Victim> {
  readonly victims: readonly Victim[];
  readonly kernels: readonly PlacedKernel[];
}

export interface Fit {
  readonly demand: Demand;
  readonly kernels: readonly Pick<PlacedKernel, 'kernelId' | 'slots'>[];
}

export const fitOf = (session: SnapshotPending): Fit => ({
  demand: demandOf(session),
  kernels: session.kernels.map(({ id, slots }) => ({ kernelId: id, slots })),
});

/** From so many on it is cheaper to rank the nodes anew than to move each in its list. */
const MOVES_MAX = 64;

export function vacateAll(ranking: Ranking, leaving: readonly Leaving[]): void {
  if (leaving.length > MOVES_MAX) ranking.lists = undefined;
  for (const { session } of leaving) for (const room of session.kernels) vacate(ranking, room);
}

export function occupyAll(ranking: Ranking, leaving: readonly Leaving[]): void {
  if (leaving.length > MOVES_MAX) ranking.lists = undefined;
  for (const { session } of leaving) for (const room of session.kernels) occupy(ranking, room);
}

/** Takes the session's room when there is some; a search that gave up found none. */
function takeRoom(ranking: Ranking, { demand, kernels }: Fit): readonly PlacedKernel[] | null {
  const attempt = place(ranking, demand);
  return typeof attempt === 'string' ? null : placedKernelsOf(ranking.table, kernels, attempt);
}

/** Whether there is room; nothing stays taken. */
export function hasRoom(ranking: Ranking, { demand }: Fit): boolean {
  const attempt = place(ranking, demand);
  if (typeof attempt === 'string') return false;
  unplace(ranking, demand, attempt);
  return true;
}

/**
 * The least set of victims, by inclusion: without any one of them the session does not fit. First the shortest run of
 * candidates, from the first on, whose room suffices; then each is put back that turns out not to be needed, the last
 * taken is tried first. null when all of them do not suffice. The ranking is used up: the victims have left it, and the
 * session's room is taken.
 */
export function leastVictims<Victim extends Leaving>(
  ranking: Ranking,
  fit: Fit,
  candidates: readonly Victim[],
): LeastSet<Victim> | null {
  const count = shortestRun(ranking, fit, candidates);
  if (count === null) return null;
  const run = candidates.slice(0, count);
  const gauge = roomGauge(ranking, fit.demand);
  if (gauge === null) return putBackBeside(ranking, fit, run);
  const victims = putBackByCount(ranking, gauge, run);
  const kernels = takeRoom(ranking, fit);
  return kernels === null ? null : { victims, kernels };
}

/** How many of the candidates, from the first on, make room; they have left the ranking then. null when all do not. */
export function shortestRun(ranking: Ranking, fit: Fit, candidates: readonly Leaving[]): number | null {
  const gauge = roomGauge(ranking, fit.demand);
  if (gauge === null) return shortestRunByPlacing(ranking, fit, candidates);
  ranking.lists = undefined;
  for (const [count, candidate] of candidates.entries()) {
    if (gauge.fits()) return count;
    vacateAll(ranking, [candidate]);
    gauge.refresh(nodesOf(candidate));
  }
  return gauge.fits() ? candidates.length : null;
}

/** By doubling, then halving: more room never hurts. */
function shortestRunByPlacing(ranking: Ranking, fit: Fit, candidates: readonly Leaving[]): number | null {
  let gone = 0;
  const suffices = (count: number): boolean => {
    if (count > gone) vacateAll(ranking, candidates.slice(gone, count));
    else occupyAll(ranking, candidates.slice(count, gone));
    gone = count;
    return hasRoom(ranking, fit);
  };
  let tooFew = -1;
  let enough = 0;
  while (!suffices(enough)) {
    if (enough === candidates.length) return null;
    tooFew = enough;
    enough = Math.min(candidates.length, Math.max(1, enough * 2));
  }
  while (enough - tooFew > 1) {
    const middle = (enough + tooFew) >>> 1;
    if (suffices(middle)) enough = middle;
    else tooFew = middle;
  }
  return suffices(enough) ? enough : null;
}

/** Those that cannot be put back, the last first: a look at the victim's own nodes decides. */
function putBackByCount<Victim extends Leaving>(
  ranking: Ranking,
  gauge: RoomGauge,
  run: readonly Victim[],
): readonly Victim[] {
  ranking.lists = undefined;
  const needed = run.toReversed().filter((victim) => {
    occupyAll(ranking, [victim]);
    gauge.refresh(nodesOf(victim));
    if (gauge.fits()) return false;
    vacateAll(ranking, [victim]);
    gauge.refresh(nodesOf(victim));
    return true;
  });
  return needed.toReversed();
}

/** The same for kernels that differ: one whose old room nobody takes goes back at once, for another the session is placed anew. */
function putBackBeside<Victim extends Leaving>(
  ranking: Ranking,
  fit: Fit,
  run: readonly Victim[],
): LeastSet<Victim> | null {
  let kernels = takeRoom(ranking, fit);
  if (kernels === null) return null;
  const needed: Victim[] = [];
  for (const victim of run.toReversed()) {
    if (occupyIfFree(ranking, victim.session.kernels)) continue;
    vacateAll(ranking, [{ session: { kernels } }]);
    occupyAll(ranking, [victim]);
    const elsewhere = takeRoom(ranking, fit);
    if (elsewhere !== null) {
      kernels = elsewhere;
      continue;
    }
    vacateAll(ranking, [victim]);
    occupyAll(ranking, [{ session: { kernels } }]);
    needed.push(victim);
  }
  return { victims: needed.toReversed(), kernels };
}

const nodesOf = ({ session }: Leaving): ReadonlySet<string> => new Set(session.kernels.map(({ node }) => node));
