import type { SnapshotClaim } from '../contract/index.js';

type Named = Pick<SnapshotClaim, 'model' | 'project'>;

export const FOREIGN_MODEL = 'a model of another project';

/**
 * What is told of a claim (its reason, its history, the gateway's answer) is read by all of its project, who may not see those of
 * others: a neighbour has its name only for its own project. A snapshot without projects is of one.
 */
export const nameTo = (reader: Named, { model, project }: Named): string =>
  project === reader.project ? model : FOREIGN_MODEL;

export interface Told {
  readonly claim: Named;
  /** What is said of it, after its name; may be empty. */
  readonly words: string;
}

/** One part each for the reader's own, in their order, then one for all others of which the same is said. */
export function toldTo(reader: Named, neighbours: readonly Told[]): readonly string[] {
  const own = neighbours.filter(({ claim }) => claim.project === reader.project);
  const counts = new Map<string, number>();
  for (const { claim, words } of neighbours)
    if (claim.project !== reader.project) counts.set(words, (counts.get(words) ?? 0) + 1);
  const others = [...counts].map(
    ([words, count]) => `${said(FOREIGN_MODEL, words)}${count === 1 ? '' : ` (${count})`}`,
  );
  return [...own.map(({ claim, words }) => said(claim.model, words)), ...others];
}

const said = (name: string, words: string): string => (words === '' ? name : `${name} ${words}`);
