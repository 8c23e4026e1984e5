import type { BudgetChange, BudgetId, Page, PageQuery } from '../../contract/index.js';
import type { BudgetStore } from '../budget-store.js';
import { decodeCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';

interface Asked {
  readonly page: PageQuery;
  readonly sight: Parameters<BudgetStore['changes']>[2];
}

const seen = (sight: Asked['sight']): Sql =>
  sight === null
    ? sql`true`
    : sql`(split_part(c.budget, '/', 1) = ANY(${sight.tops}::text[])
        OR c.budget NOT LIKE '%/%' AND c.field = ANY(${sight.openFields}::text[]))`;

/** Newest first, of the budget and of all that is below it now. What is not seen takes no place on a page. */
export async function readChanges(
  tx: Runner,
  budgetId: BudgetId,
  { page: query, sight }: Asked,
): Promise<Page<BudgetChange>> {
  const [, seq] = decodeCursor(query.cursor, 2) ?? [];
  const before = seq !== undefined && /^\d{1,15}$/.test(seq) ? sql`c.seq < ${seq}::bigint` : sql`true`;
  const rows = await tx.rows<BudgetChange>(sql`
    WITH RECURSIVE below AS (
      SELECT id FROM budgets WHERE id = ${budgetId} UNION SELECT b.id FROM below o JOIN budgets b ON b.parent_id = o.id)
    SELECT c.seq, c.at, c.budget, c.actor, c.field, c.before, c.after FROM budget_changes c
    WHERE c.budget_id IN (SELECT id FROM below) AND ${before} AND ${seen(sight)}
    ORDER BY c.seq DESC LIMIT ${query.limit + 1}`);
  return pageOfRows(rows, query, { item: (row) => row, key: (row) => [row.at, String(row.seq)] });
}
