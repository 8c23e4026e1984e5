import { shapeKey } from './demand.js';
import { deviceViewOf, holds } from './node-table.js';
import { nodesToTry } from './place.js';
import { type Fit, type LeastSet, leastOf, occupyAll, vacateAll } from './preempt-search.js';
import type { Offer, Ranked } from './preemption.js';
import type { Ranking } from './ranking.js';
import type { Candidate } from './victims.js';

interface OnNodes {
  readonly offer: Pick<Offer, 'openOn' | 'runs'>;
  /** Were told to end since the offer was made: they have left the ranking already. */
  readonly leaving: ReadonlyMap<string, unknown>;
  /** How often each node changed: what was found on one of them before holds until it does. */
  readonly changes: Int32Array;
}

/**
 * The same set as `leastVictims` for a request that goes to one node: of all nodes the one where the shortest run of candidates
 * makes room. Only the candidates of a node matter to it, and a node is looked at again only after a change.
 */
export function leastOnOneNode(ranking: Ranking, fit: Fit, on: OnNodes): LeastSet<Candidate> | null {
  const mask = nodesToTry(ranking, fit.demand);
  const last = lastOfRuns(ranking, fit, on);
  const shortest = last.reduce((least, each, i) => (mask[i] === 1 ? Math.min(least, each) : least), Infinity);
  if (shortest === Infinity) return null;
  const run = new Set<Ranked>();
  for (const [i, each] of last.entries()) {
    if (mask[i] === 0 || each !== shortest) continue;
    for (const ranked of candidatesOn(ranking, on, i)) if (ranked.rank <= shortest) run.add(ranked);
  }
  const victims = [...run].toSorted((a, b) => a.rank - b.rank).map(({ candidate }) => candidate);
  vacateAll(ranking, victims);
  return leastOf(ranking, fit, victims);
}

/** Those that have not been told to end. */
const candidatesOn = ({ table }: Ranking, { offer, leaving }: OnNodes, i: number): readonly Ranked[] =>
  (offer.openOn.get(table.nodes[i]?.name ?? '') ?? []).filter(({ candidate }) => !leaving.has(candidate.session.id));

/** Per node the last one of its shortest run, for every node: which of them the request may use is another question. */
function lastOfRuns(ranking: Ranking, { demand }: Fit, on: OnNodes): Float64Array {
  const { table } = ranking;
  const shape = shapeKey(demand, false);
  const size = table.nodes.length;
  const known = on.offer.runs.get(shape) ?? { last: new Float64Array(size), asOf: new Int32Array(size).fill(-1) };
  on.offer.runs.set(shape, known);
  const sought = { unit: demand.total, free: deviceViewOf(table, demand.gpuModel) };
  for (let i = 0; i < size; i += 1) {
    if (known.asOf[i] === on.changes[i]) continue;
    const run = runOn(ranking, candidatesOn(ranking, on, i), () => holds(table, i, sought));
    known.last[i] = run === null ? Number.POSITIVE_INFINITY : (run.at(-1)?.rank ?? -1);
    known.asOf[i] = on.changes[i] as number;
  }
  return known.last;
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
