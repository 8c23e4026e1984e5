import { deviceViewOf, holds } from './node-table.js';
import { nodesToTry } from './place.js';
import { type Fit, type LeastSet, leastOf, occupyAll, vacateAll } from './preempt-search.js';
import type { Offer, Ranked } from './preemption.js';
import type { Ranking } from './ranking.js';
import type { Candidate } from './victims.js';

/** Those that an offer lets a session stop, node by node. */
export interface OnNodes extends Pick<Offer, 'ceiling' | 'openOn'> {
  /** Were told to end since the offer was made: they have left the ranking already. */
  readonly leaving: ReadonlyMap<string, unknown>;
}

/**
 * The same set as `leastVictims` for a request that goes to one node: of all nodes the one where the shortest run of candidates
 * makes room. Only the candidates of a node matter to it, and only nodes that have room when all are gone are looked at.
 */
export function leastOnOneNode(ranking: Ranking, fit: Fit, offer: OnNodes): LeastSet<Candidate> | null {
  const run = shortestRunOnANode(ranking, fit, offer);
  if (run === null) return null;
  vacateAll(
    ranking,
    run.map(({ candidate }) => candidate),
  );
  return leastOf(
    ranking,
    fit,
    run.map(({ candidate }) => candidate),
  );
}

/** The candidates on the nodes that the shortest run frees, up to its last one, in their order. */
function shortestRunOnANode(ranking: Ranking, { demand }: Fit, offer: OnNodes): readonly Ranked[] | null {
  const { table } = ranking;
  const { ceiling, openOn, leaving } = offer;
  const mask = nodesToTry(ranking, demand);
  const sought = { unit: demand.total, free: deviceViewOf(table, demand.gpuModel) };
  const whenGone = { unit: demand.total, free: deviceViewOf(ceiling.table, demand.gpuModel) };
  let shortest = Number.POSITIVE_INFINITY;
  let on: (readonly Ranked[])[] = [];
  for (let i = 0; i < mask.length; i += 1) {
    if (mask[i] === 0 || !holds(ceiling.table, i, whenGone)) continue;
    const here = (openOn.get(table.nodes[i]?.name ?? '') ?? []).filter(
      ({ candidate, rank }) => rank <= shortest && !leaving.has(candidate.session.id),
    );
    const run = runOn(ranking, here, () => holds(table, i, sought));
    if (run === null) continue;
    const last = run.at(-1)?.rank ?? -1;
    if (last > shortest) continue;
    if (last < shortest) on = [];
    shortest = last;
    on.push(run);
  }
  if (on.length === 0) return null;
  return [...new Set(on.flat())].toSorted((a, b) => a.rank - b.rank);
}

/** The shortest run that makes room on the node; the ranking is as before. null when all do not. */
function runOn(ranking: Ranking, here: readonly Ranked[], fits: () => boolean): readonly Ranked[] | null {
  let gone = 0;
  while (!fits()) {
    const next = here[gone];
    if (next === undefined) break;
    vacateAll(ranking, [next.candidate]);
    gone += 1;
  }
  const run = fits() ? here.slice(0, gone) : null;
  occupyAll(
    ranking,
    here.slice(0, gone).map(({ candidate }) => candidate),
  );
  return run;
}
