import type { Page, PageQuery, ScaleDecisionView } from '../../contract/index.js';
import { decodeCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

interface Row {
  readonly id: number;
  readonly at: string;
  readonly decision: ScaleDecisionView;
}

/** The newest first. */
export async function readDecisions(
  tx: Runner,
  deploymentId: string,
  query: PageQuery,
): Promise<Page<ScaleDecisionView>> {
  const key = decodeCursor(query.cursor, 2);
  const rows = await tx.rows<Row>(sql`
    SELECT c.id, c.at, c.decision FROM deployment_decisions c
    WHERE c.deployment_id = ${deploymentId} AND ${key === null ? sql`true` : sql`c.id < ${key[1]}::bigint`}
    ORDER BY c.id DESC LIMIT ${query.limit + 1}`);
  return pageOfRows(rows, query, { item: (row) => row.decision, key: (row) => [row.at, String(row.id)] });
}
