import type { Held, QuotaLimits, QuotaScopeKind, SnapshotQuota } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { json, type Sql, sql } from '../sql.js';

export interface QuotaScopeId {
  readonly scope: QuotaScopeKind;
  readonly id: string;
}
interface QuotaRow extends Held {
  readonly scope: QuotaScopeKind;
  readonly id: string;
  readonly name: string;
  readonly limits: QuotaLimits;
}

/** Sums over the open reservations of one scope: from placement to release. */
const heldBy = (column: Sql): Sql => sql`
  SELECT coalesce(sum(cpu_milli), 0)::bigint AS "cpuMilli", coalesce(sum(memory_bytes), 0)::bigint AS "memoryBytes",
         coalesce(sum(gpu_count), 0)::bigint AS "gpuCount", coalesce(sum(gpu_memory_bytes), 0)::bigint AS "gpuMemoryBytes",
         count(DISTINCT session_id)::int AS sessions
  FROM reservations WHERE released_at IS NULL AND ${column} = q.scope_id`;

const quotasOf = (scope: QuotaScopeKind, where: Sql): Sql => {
  const column = { user: sql`user_id`, project: sql`project_id`, domain: sql`domain_id` }[scope];
  const table = { user: sql`users`, project: sql`projects`, domain: sql`domains` }[scope];
  return sql`
    SELECT q.scope, q.scope_id AS id, n.name, q.limits, held.*
    FROM quotas q JOIN ${table} n ON n.id = q.scope_id CROSS JOIN LATERAL (${heldBy(column)}) held
    WHERE q.scope = ${scope} AND ${where}`;
};

const toQuota = ({ scope, id, name, limits, ...held }: QuotaRow): SnapshotQuota => ({ scope, id, name, limits, held });

async function readQuotasWhere(tx: Runner, where: Sql): Promise<readonly SnapshotQuota[]> {
  const rows = await tx.rows<QuotaRow>(
    sql`${quotasOf('user', where)} UNION ALL ${quotasOf('project', where)} UNION ALL ${quotasOf('domain', where)}`,
  );
  return rows.map(toQuota);
}

/** Every scope that has a quota, with what it holds. A scope without one costs nothing. */
export const readAllQuotas = (tx: Runner): Promise<readonly SnapshotQuota[]> => readQuotasWhere(tx, sql`true`);

/** The quotas of these scopes. */
export const readQuotas = (tx: Runner, scopes: readonly QuotaScopeId[]): Promise<readonly SnapshotQuota[]> =>
  readQuotasWhere(
    tx,
    sql`(q.scope, q.scope_id) IN (SELECT s.scope, s.id FROM jsonb_to_recordset(${json(scopes)}::jsonb) AS s(scope text, id text))`,
  );

/** Locks them, in one order, so that two groups that share a quota commit one after the other. */
export async function lockQuotas(tx: Runner, scopes: readonly QuotaScopeId[]): Promise<boolean> {
  const rows = await tx.rows(sql`
    SELECT 1 FROM quotas q
    WHERE (q.scope, q.scope_id) IN (SELECT s.scope, s.id FROM jsonb_to_recordset(${json(scopes)}::jsonb) AS s(scope text, id text))
    ORDER BY q.scope, q.scope_id FOR UPDATE`);
  return rows.length > 0;
}

/** Plans that were made before this are refused. In every group: a quota reaches across them. */
export async function raiseAllGenerations(tx: Runner): Promise<void> {
  await tx.run(sql`
    UPDATE resource_groups g SET generation = generation + 1
    FROM (SELECT name FROM resource_groups ORDER BY name FOR NO KEY UPDATE) locked WHERE g.name = locked.name`);
}
