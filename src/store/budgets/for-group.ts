import type { BudgetSettings, SnapshotBudgets } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { readCapacity, type Window } from './read-capacity.js';
import { readHolding, readHomes, readUse } from './read-use.js';
import { readSettings } from './settings.js';

export const windowOf = (
  { windowSeconds, halfLifeSeconds }: Pick<BudgetSettings, 'windowSeconds' | 'halfLifeSeconds'>,
  at: string,
): Window => ({
  at,
  windowMs: windowSeconds * 1000,
  halfLifeMs: halfLifeSeconds === null ? null : halfLifeSeconds * 1000,
});

export async function readMoment(tx: Runner): Promise<string> {
  const row = await tx.first<{ at: string }>(sql`SELECT now()::timestamptz(3) AS at`);
  if (row === undefined) throw new Error('Postgres answered nothing');
  return row.at;
}

/** Of `tx`, one consistent view whose moment is `at`. */
export async function readForGroup(tx: Runner, group: string, at: string): Promise<SnapshotBudgets> {
  const settings = await readSettings(tx);
  const window = windowOf(settings, at);
  const nodes = await tx.rows<SnapshotBudgets['nodes'][number]>(sql`
    SELECT id, name, parent_id AS "parentId", domain_id AS "domainId", weight FROM budgets WHERE closed_at IS NULL
    ORDER BY created_at, id`);
  const { charged, unallocated } = await readUse(tx, window, await readHomes(tx));
  const { capacity } = await readCapacity(tx, window);
  const holding = await readHolding(tx, { at, exceptGroup: group });
  const elsewhere = new Map(holding.map(({ budgetId, committed }) => [budgetId, committed]));
  const of = (sums: ReadonlyMap<string, number>, id: string): number => sums.get(id) ?? 0;
  const leaves = nodes
    .map(({ id }) => ({
      id,
      use: of(charged, id),
      committedElsewhere: of(elsewhere, id),
      unallocatedUse: of(unallocated, id),
    }))
    .filter((leaf) => leaf.use + leaf.committedElsewhere + leaf.unallocatedUse > 0);
  const isBudget = new Set<string>(nodes.map(({ id }) => id));
  return {
    windowSeconds: settings.windowSeconds,
    capacity,
    nodes,
    leaves,
    projects: [...unallocated]
      .filter(([id, use]) => !isBudget.has(id) && use > 0)
      .map(([id, unallocatedUse]) => ({ id, unallocatedUse }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    factors: Object.fromEntries(
      Object.entries(settings.factors).map(([model, factor]) => [model, Math.round(factor * 1000)]),
    ),
    unallocatedGraceSeconds: settings.unallocatedGraceSeconds,
  };
}
