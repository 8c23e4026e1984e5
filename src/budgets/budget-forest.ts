import type { BudgetRow } from './budget-facts.js';

/** All budgets that ever were, closed ones too, with the path of each: names from below the root, the root is `root`. */
export interface BudgetForest {
  readonly rows: readonly BudgetRow[];
  readonly byId: ReadonlyMap<string, BudgetRow>;
  readonly pathOf: (id: string) => string;
  /** The open ones right below it, by name. */
  readonly childrenOf: (id: string) => readonly BudgetRow[];
  /** Itself, then its parent, up to the root. */
  readonly lineOf: (id: string) => readonly BudgetRow[];
  /** 0 is the root. */
  readonly depthOf: (id: string) => number;
}

const ROOT_PATH = 'root';
export const isRoot = ({ parentId }: Pick<BudgetRow, 'parentId'>): boolean => parentId === null;
export const isOpen = ({ closedAt }: Pick<BudgetRow, 'closedAt'>): boolean => closedAt === null;
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export function forestOf(rows: readonly BudgetRow[]): BudgetForest {
  const byId = new Map<string, BudgetRow>(rows.map((row) => [row.id, row]));
  const children = new Map<string, BudgetRow[]>();
  for (const row of rows.toSorted((a, b) => compareText(a.name, b.name))) {
    if (row.parentId === null || !isOpen(row)) continue;
    const siblings = children.get(row.parentId);
    if (siblings === undefined) children.set(row.parentId, [row]);
    else siblings.push(row);
  }
  const lineOf = (id: string): readonly BudgetRow[] => {
    const line: BudgetRow[] = [];
    for (let row = byId.get(id); row !== undefined && !line.includes(row); row = byId.get(row.parentId ?? ''))
      line.push(row);
    return line;
  };
  const pathOf = (id: string): string => {
    const line = lineOf(id).filter((row) => !isRoot(row));
    return line.length === 0
      ? ROOT_PATH
      : line
          .map(({ name }) => name)
          .toReversed()
          .join('/');
  };
  const childrenOf = (id: string): readonly BudgetRow[] => children.get(id) ?? [];
  return { rows, byId, pathOf, childrenOf, lineOf, depthOf: (id) => lineOf(id).length - 1 };
}

/** By id, or by path: the open one, else the last one that was closed under that path. */
export function findBudget(forest: BudgetForest, pathOrId: string): BudgetRow | null {
  const known = forest.byId.get(pathOrId);
  if (known !== undefined) return known;
  const named = forest.rows.filter(({ id }) => forest.pathOf(id) === pathOrId);
  const open = named.find((row) => forest.lineOf(row.id).every(isOpen));
  return open ?? named.toSorted((a, b) => compareText(b.closedAt ?? '', a.closedAt ?? ''))[0] ?? null;
}

/** Open, and with no open budget below it: only such a one is charged. */
export const isOpenLeaf = (forest: BudgetForest, row: BudgetRow): boolean =>
  isOpen(row) && !isRoot(row) && forest.childrenOf(row.id).length === 0;
