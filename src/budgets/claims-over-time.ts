import { type BudgetNode, budgetTree, leavesOf } from './budget-tree.js';
import { claimsOf } from './claims.js';

/** A budget as it stood for a while: its place and weight. A closed one has none. */
export interface BudgetVersion {
  readonly budgetId: string;
  readonly parentId: string | null;
  readonly weight: number;
  readonly sinceMs: number;
  /** null: it stands so still. */
  readonly untilMs: number | null;
}

export interface ClaimsOfCell {
  readonly claims: ReadonlyMap<string, number>;
  /** Those that had no budget below them: only these count in the impact. */
  readonly leaves: ReadonlySet<string>;
}

const NOTHING: ClaimsOfCell = { claims: new Map(), leaves: new Set() };

/** When any claim may have changed. */
export const changesOf = (versions: readonly BudgetVersion[]): readonly number[] =>
  versions.flatMap(({ sinceMs, untilMs }) => (untilMs === null ? [sinceMs] : [sinceMs, untilMs]));

/** The claims that held in each cell. Edges have to hold every change; before the first budget nobody claims anything. */
export function claimsOverTime(
  versions: readonly BudgetVersion[],
  edgesMs: readonly number[],
): readonly ClaimsOfCell[] {
  const changes = new Set(changesOf(versions));
  const cells: ClaimsOfCell[] = [];
  for (const at of edgesMs.slice(0, -1)) {
    const before = cells.at(-1);
    cells.push(before !== undefined && !changes.has(at) ? before : claimsAt(versions, at));
  }
  return cells;
}

function claimsAt(versions: readonly BudgetVersion[], atMs: number): ClaimsOfCell {
  const holds = ({ sinceMs, untilMs }: BudgetVersion): boolean =>
    sinceMs <= atMs && (untilMs === null || untilMs > atMs);
  const nodes = versions
    .filter(holds)
    .map(({ budgetId: id, parentId, weight }): BudgetNode => ({ id, name: id, parentId, domainId: '', weight }));
  const checked = budgetTree(nodes);
  if ('problems' in checked) return NOTHING;
  const leaves = new Set(leavesOf(checked.tree).map(({ id }) => id));
  return { claims: claimsOf(checked.tree), leaves };
}
