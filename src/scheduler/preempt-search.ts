import type { PlacedKernel } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import type { Demand } from './demand.js';
import { deviceViewOf, holds } from './node-table.js';
import { nodesToTry, place, unplace } from './place.js';
import type { Ranking } from './ranking.js';
import { roomGauge } from './room-gauge.js';
import { occupy, occupyIfFree, placedKernelsOf, type Room, vacate } from './rooms.js';
import { alikeFit } from './units-on.js';

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

/** `closed`: nodes whose room is promised to others. */
export const fitOf = (session: SnapshotPending, demand: Demand, closed?: ReadonlySet<string>): Fit => ({
  demand: closed === undefined ? demand : { ...demand, closed },
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
  if (!demand.spread) return someNodeHolds(ranking, demand);
  const counted = demand.contradicts ? false : alikeFit(ranking.table, demand, nodesToTry(ranking, demand));
  if (counted !== null) return counted;
  const attempt = place(ranking, demand);
  if (typeof attempt === 'string') return false;
  unplace(ranking, demand, attempt);
  return true;
}

function someNodeHolds(ranking: Ranking, demand: Demand): boolean {
  const { table } = ranking;
  const mask = nodesToTry(ranking, demand);
  const sought = { unit: demand.total, free: deviceViewOf(table, demand.gpuModel) };
  return !demand.contradicts && mask.some((open, i) => open === 1 && holds(table, i, sought));
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
  return leastOf(ranking, fit, candidates.slice(0, count));
}

/** The least set among those that have left: they make room together. */
export function leastOf<Victim extends Leaving>(
  ranking: Ranking,
  fit: Fit,
  run: readonly Victim[],
): LeastSet<Victim> | null {
  const { victims, kernels } = putBack(ranking, fit, run);
  const room = kernels ?? takeRoom(ranking, fit);
  if (room === null) return null;
  if (kernels !== null) occupyAll(ranking, [{ session: { kernels } }]);
  return { victims, kernels: room };
}

/** How many of the candidates, from the first on, make room; they have left the ranking then. null when all do not. */
export function shortestRun(ranking: Ranking, fit: Fit, candidates: readonly Leaving[]): number | null {
  const gauge = roomGauge(ranking, fit.demand);
  ranking.lists = undefined;
  let gone = 0;
  while (!gauge.fits()) {
    const candidate = candidates[gone];
    if (candidate === undefined) return null;
    vacateAll(ranking, [candidate]);
    gauge.refresh(nodesOf(candidate));
    gone += 1;
  }
  return gauge.isExact ? gone : shortestRunByPlacing(ranking, fit, { candidates, from: gone });
}

/** The first `from` have left. By doubling, then halving: more room never hurts. */
function shortestRunByPlacing(
  ranking: Ranking,
  fit: Fit,
  { candidates, from }: { readonly candidates: readonly Leaving[]; readonly from: number },
): number | null {
  let gone = from;
  const suffices = (count: number): boolean => {
    if (count > gone) vacateAll(ranking, candidates.slice(gone, count));
    else occupyAll(ranking, candidates.slice(count, gone));
    gone = count;
    return hasRoom(ranking, fit);
  };
  let tooFew = from - 1;
  let enough = from;
  for (let step = 1; !suffices(enough); step *= 2) {
    if (enough === candidates.length) return null;
    tooFew = enough;
    enough = Math.min(candidates.length, enough + step);
  }
  while (enough - tooFew > 1) {
    const middle = (enough + tooFew) >>> 1;
    if (suffices(middle)) enough = middle;
    else tooFew = middle;
  }
  return suffices(enough) ? enough : null;
}

/**
 * Those that cannot be put back, the last first. The gauge mostly decides, from the victim's own nodes; where it is not
 * exact the session is placed anew, unless its room stands beside the victim. `kernels` is that room, not taken; null where it
 * was not needed.
 */
function putBack<Victim extends Leaving>(
  ranking: Ranking,
  fit: Fit,
  run: readonly Victim[],
): { readonly victims: readonly Victim[]; readonly kernels: readonly PlacedKernel[] | null } {
  const gauge = roomGauge(ranking, fit.demand);
  ranking.lists = undefined;
  let kernels = gauge.isExact ? null : peekRoom(ranking, fit);
  const isNeeded = (victim: Victim): boolean => {
    const nodes = nodesOf(victim);
    // On nodes that hold nothing of the session even without him he is in nobody's way, there or gone.
    if (gauge.isExact && !gauge.holdsSome(nodes)) return false;
    occupyAll(ranking, [victim]);
    gauge.refresh(nodes);
    if (gauge.fits()) {
      if (gauge.isExact || (kernels !== null && standsOn(ranking, kernels, nodes))) return false;
      const elsewhere = peekRoom(ranking, fit);
      kernels = elsewhere ?? kernels;
      if (elsewhere !== null) return false;
    }
    vacateAll(ranking, [victim]);
    gauge.refresh(nodes);
    return true;
  };
  return { victims: run.toReversed().filter(isNeeded).toReversed(), kernels };
}

/** The room that the session would get; it is not taken. */
function peekRoom(ranking: Ranking, fit: Fit): readonly PlacedKernel[] | null {
  const kernels = takeRoom(ranking, fit);
  if (kernels !== null) vacateAll(ranking, [{ session: { kernels } }]);
  return kernels;
}

/** Whether what of the room lies on these nodes is free; nothing is taken. */
function standsOn(ranking: Ranking, kernels: readonly PlacedKernel[], nodes: ReadonlySet<string>): boolean {
  const rooms = kernels.filter(({ node }) => nodes.has(node));
  const isFree = occupyIfFree(ranking, rooms);
  if (isFree) vacateAll(ranking, [{ session: { kernels: rooms } }]);
  return isFree;
}

const nodesOf = ({ session }: Leaving): ReadonlySet<string> => new Set(session.kernels.map(({ node }) => node));
