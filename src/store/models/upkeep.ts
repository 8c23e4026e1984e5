import type { Runner } from '../database.js';
import type { ModelStore } from '../model-store.js';
import { sql } from '../sql.js';

type Names = Awaited<ReturnType<ModelStore['open']>>;

const names = async (tx: Runner, statement: ReturnType<typeof sql>): Promise<readonly string[]> =>
  (await tx.rows<{ name: string }>(statement)).map((row) => row.name);

/** What was signalled and not taken for so long. */
export async function readDue(tx: Runner, olderThanMs: number): Promise<Names> {
  const old = sql`now() - ${olderThanMs}::float8 * interval '1 ms'`;
  return {
    pools: await names(
      tx,
      sql`
      SELECT name FROM pools p WHERE changes > planned_changes AND changed_at < ${old}
        AND (removed_at IS NULL OR EXISTS (SELECT 1 FROM pool_members m WHERE m.pool = p.name AND m.closed_at IS NULL)) ORDER BY 1`,
    ),
    claims: await names(
      tx,
      sql`
      SELECT DISTINCT claim_id AS name FROM model_engines WHERE order_due_at < ${old} AND order_read_at IS NULL ORDER BY 1`,
    ),
  };
}

/** All that has a workflow. */
export const readOpen = async (tx: Runner): Promise<Names> => ({
  pools: await names(
    tx,
    sql`
    SELECT name FROM pools p WHERE removed_at IS NULL
      OR EXISTS (SELECT 1 FROM pool_members m WHERE m.pool = p.name AND m.closed_at IS NULL) ORDER BY 1`,
  ),
  claims: await names(tx, sql`SELECT id AS name FROM model_claims WHERE ended_at IS NULL ORDER BY 1`),
});

interface MetricRow {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export const readMetrics = (tx: Runner): Promise<readonly MetricRow[]> =>
  tx.rows<MetricRow>(sql`
    SELECT 'model_claims' AS name, json_build_object('pool', pool, 'phase', phase, 'reason', coalesce(reason, '')) AS labels, count(*)::float8 AS value
    FROM model_claims WHERE ended_at IS NULL GROUP BY pool, phase, reason
    UNION ALL
    SELECT 'model_wake_failures_total', json_build_object('pool', name), wake_failures::float8 FROM pools WHERE removed_at IS NULL
    UNION ALL
    SELECT 'model_oldest_wake_ask_seconds', json_build_object('pool', pool), extract(epoch FROM now() - min(wake_asked_at))::float8
    FROM model_claims WHERE ended_at IS NULL AND wake_asked_at IS NOT NULL GROUP BY pool`);
