import type { BudgetId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import type { BudgetPeriods, BudgetVersionRow } from './budget-periods.js';
import { readMoment } from './for-group.js';
import { readCapacityCells, readDemandCells } from './read-capacity.js';
import { type AccountTime, instant, readGpuTime } from './read-gpu-time.js';

const CELLS_MAX = 400;

type Sums = Record<AccountTime['kind'] | 'demand', number[]>;

/** Sums by account, each with a number for every cell. */
class Accounts {
  readonly #byId = new Map<string, Sums>();
  readonly #cells: number;

  constructor(cells: number) {
    this.#cells = cells;
  }

  add(account: string, kind: keyof Sums, at: { readonly cell: number; readonly gpuTime: number }): void {
    let sums = this.#byId.get(account);
    if (sums === undefined) {
      const none = () => new Array<number>(this.#cells).fill(0);
      sums = { charged: none(), unallocated: none(), uncharged: none(), demand: none() };
      this.#byId.set(account, sums);
    }
    sums[kind][at.cell] = (sums[kind][at.cell] ?? 0) + at.gpuTime;
  }

  all(): readonly (readonly [string, Sums])[] {
    return [...this.#byId].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }
}

const cellsOf = (
  count: number,
  rows: readonly { readonly cell: number; readonly value: number }[],
): readonly number[] => {
  const cells = new Array<number>(count).fill(0);
  for (const { cell, value } of rows) cells[cell] = (cells[cell] ?? 0) + value;
  return cells;
};

/** `tx` must be one consistent view. */
export async function readPeriods(tx: Runner, edgesMs: readonly number[]): Promise<BudgetPeriods> {
  const count = Math.max(0, edgesMs.length - 1);
  if (count > CELLS_MAX) throw new Error(`${count} cells: at most ${CELLS_MAX} at once`);
  const at = await readMoment(tx);
  const times = await readGpuTime(tx, edgesMs, at);
  const accounts = new Accounts(count);
  for (const { account, kind, ...rest } of times) accounts.add(account, kind, rest);
  for (const { account, ...rest } of await readDemandCells(tx, edgesMs, at)) accounts.add(account, 'demand', rest);
  const capacity = await readCapacityCells(tx, edgesMs, at);
  const all = accounts.all();
  const isBudget = (id: string): id is BudgetId => id.startsWith('bgt_');
  return {
    atMs: Date.parse(at),
    leaves: all.flatMap(([id, sums]) => (isBudget(id) ? [{ budgetId: id, ...sums }] : [])),
    projects: all.flatMap(([id, { demand: _, ...sums }]) => (isBudget(id) ? [] : [{ projectId: id, ...sums }])),
    total: cellsOf(
      count,
      capacity.map(({ cell, total }) => ({ cell, value: total })),
    ),
    healthy: cellsOf(
      count,
      capacity.map(({ cell, healthy }) => ({ cell, value: healthy })),
    ),
    assigned: cellsOf(
      count,
      times.map(({ cell, gpuTime }) => ({ cell, value: gpuTime })),
    ),
  };
}

export const readVersions = async (tx: Runner, fromMs: number): Promise<readonly BudgetVersionRow[]> => {
  const rows = await tx.rows<Pick<BudgetVersionRow, 'budgetId' | 'parentId' | 'weight'> & Since>(sql`
    SELECT budget_id AS "budgetId", parent_id AS "parentId", weight, since, until FROM budget_versions
    WHERE until IS NULL OR until > ${instant(fromMs)}::timestamptz ORDER BY since, id`);
  return rows.map(({ since, until, ...row }) => ({
    ...row,
    sinceMs: Date.parse(since),
    untilMs: until === null ? null : Date.parse(until),
  }));
};
interface Since {
  readonly since: string;
  readonly until: string | null;
}
