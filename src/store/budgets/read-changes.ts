import type { BudgetChange, BudgetId, Page, PageQuery } from '../../contract/index.js';
import { decodeCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/** Newest first, of the budget and of all that is below it now. */
export async function readChanges(tx: Runner, budgetId: BudgetId, query: PageQuery): Promise<Page<BudgetChange>> {
  const [, seq] = decodeCursor(query.cursor, 2) ?? [];
  const before = seq !== undefined && /^\d{1,15}$/.test(seq) ? sql`c.seq < ${seq}::bigint` : sql`true`;
  const rows = await tx.rows<BudgetChange>(sql`
    WITH RECURSIVE below AS (
      SELECT id FROM budgets WHERE id = ${budgetId} UNION SELECT b.id FROM below o JOIN budgets b ON b.parent_id = o.id)
    SELECT c.seq, c.at, c.budget, c.actor, c.field, c.before, c.after FROM budget_changes c
    WHERE c.budget_id IN (SELECT id FROM below) AND ${before} ORDER BY c.seq DESC LIMIT ${query.limit + 1}`);
  return pageOfRows(rows, query, { item: (row) => row, key: (row) => [row.at, String(row.seq)] });
}
