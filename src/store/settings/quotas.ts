import type { PageQuery, Principal, Quota, QuotaLimits, QuotaScopeKind } from '../../contract/index.js';
import { afterCursor, pageOfRows } from '../cursor.js';
import type { Database, Runner } from '../database.js';
import { json, type Sql, sql } from '../sql.js';
import type { SettingsStore } from '../store.js';
import { raiseAllGenerations } from './held.js';

interface ScopeRow {
  readonly id: string;
  readonly name: string;
}

/** Users and domains by name; a project as `domain/name`, or by a name that only one project has. */
async function findScope(tx: Runner, scope: QuotaScopeKind, name: string): Promise<ScopeRow | null> {
  const table = { user: sql`users`, domain: sql`domains` };
  const found =
    scope === 'project'
      ? sql`SELECT p.id, d.name || '/' || p.name AS name FROM projects p JOIN domains d ON d.id = p.domain_id
            WHERE ${name} IN (p.name, d.name || '/' || p.name) LIMIT 2`
      : sql`SELECT id, name FROM ${table[scope]} WHERE name = ${name}`;
  const rows = await tx.rows<ScopeRow>(found);
  return rows.length === 1 ? (rows[0] ?? null) : null;
}

type QuotaRow = Omit<Quota, 'held' | 'name'> & Quota['held'] & { readonly createdAt: string; readonly id: string };

const quotaRows = (source: Sql): Sql => sql`
  SELECT q.scope, q.scope_id AS id, q.limits, q.version::text AS etag, q.created_at AS "createdAt", held.*,
    (SELECT count(*)::int FROM sessions s WHERE s.state = 'PENDING' AND q.scope_id =
      CASE q.scope WHEN 'user' THEN s.user_id WHEN 'project' THEN s.project_id ELSE s.domain_id END) AS "pendingSessions"
  FROM ${source} CROSS JOIN LATERAL (
    SELECT coalesce(sum(cpu_milli), 0)::bigint AS "cpuMilli", coalesce(sum(memory_bytes), 0)::bigint AS "memoryBytes",
      coalesce(sum(gpu_count), 0)::bigint AS "gpuCount", coalesce(sum(gpu_memory_bytes), 0)::bigint AS "gpuMemoryBytes",
      count(DISTINCT session_id)::int AS sessions
    FROM reservations r WHERE r.released_at IS NULL AND q.scope_id =
      CASE q.scope WHEN 'user' THEN r.user_id WHEN 'project' THEN r.project_id ELSE r.domain_id END) held`;

const toQuota = ({ id: _, createdAt: __, ...row }: QuotaRow, name: string): Quota => {
  const { cpuMilli, memoryBytes, gpuCount, gpuMemoryBytes, sessions, ...rest } = row;
  return { ...rest, name, held: { cpuMilli, memoryBytes, gpuCount, gpuMemoryBytes, sessions } };
};

/** A scope without a row has no limits and the ETag 0. */
async function readQuota(tx: Runner, scope: QuotaScopeKind, found: ScopeRow): Promise<Quota | null> {
  const row = await tx.first<QuotaRow>(
    quotaRows(sql`(
      SELECT ${scope}::text AS scope, ${found.id}::text AS scope_id, coalesce(q.limits, '{}') AS limits,
        coalesce(q.version, 0) AS version, coalesce(q.created_at, now()) AS created_at
      FROM (SELECT 1) one LEFT JOIN quotas q ON q.scope = ${scope} AND q.scope_id = ${found.id}) q`),
  );
  return row === undefined ? null : toQuota(row, found.name);
}

type Change = { readonly limits: QuotaLimits; readonly ifMatch: string | null };

async function writeQuota(tx: Runner, scope: { readonly kind: QuotaScopeKind; readonly name: string }, change: Change) {
  const found = await findScope(tx, scope.kind, scope.name);
  if (found === null) return 'missing';
  await raiseAllGenerations(tx); // the groups' rows first: the order of a commit
  const row = await tx.first<{ version: number }>(
    sql`SELECT version FROM quotas WHERE scope = ${scope.kind} AND scope_id = ${found.id} FOR UPDATE`,
  );
  if (change.ifMatch !== null && change.ifMatch !== String(row?.version ?? 0)) return 'stale';
  await tx.run(sql`
    INSERT INTO quotas AS q (scope, scope_id, limits) VALUES (${scope.kind}, ${found.id}, ${json(change.limits)}::jsonb)
    ON CONFLICT (scope, scope_id) DO UPDATE SET limits = excluded.limits, version = q.version + 1`);
  return (await readQuota(tx, scope.kind, found)) ?? 'missing';
}

const visible = (viewer: Principal): Sql => {
  if (viewer.role === 'operator') return sql`true`;
  const projects = viewer.projects.map((project) => project.id);
  const own = sql`q.scope_id = ANY(${[viewer.userId, viewer.domainId, ...projects]}::text[])`;
  return viewer.role === 'user'
    ? own
    : sql`(${own} OR q.scope_id IN (SELECT id FROM users WHERE domain_id = ${viewer.domainId}
        UNION ALL SELECT id FROM projects WHERE domain_id = ${viewer.domainId}))`;
};

async function listQuotas(db: Database, query: PageQuery, viewer: Principal) {
  const after = afterCursor(query, { created: sql`q.created_at`, id: sql`q.scope_id`, newestFirst: false });
  const rows = await db.rows<QuotaRow & { readonly name: string }>(sql`
    SELECT rows.*, coalesce((SELECT name FROM users WHERE id = rows.id), (SELECT name FROM domains WHERE id = rows.id),
      (SELECT d.name || '/' || p.name FROM projects p JOIN domains d ON d.id = p.domain_id WHERE p.id = rows.id), rows.id) AS name
    FROM (${quotaRows(sql`quotas q`)} WHERE ${visible(viewer)} AND ${after} ORDER BY q.created_at, q.scope_id LIMIT ${query.limit + 1}) rows
    ORDER BY rows."createdAt", rows.id`);
  return pageOfRows(rows, query, { item: (row) => toQuota(row, row.name), key: (row) => [row.createdAt, row.id] });
}

export const createQuotas = (db: Database): Pick<SettingsStore, 'getQuota' | 'putQuota' | 'listQuotas'> => ({
  getQuota: async (scope, name) => {
    const found = await findScope(db, scope, name);
    return found === null ? null : readQuota(db, scope, found);
  },
  putQuota: (scope, name, change) => db.transaction((tx) => writeQuota(tx, { kind: scope, name }, change)),
  listQuotas: (query, viewer) => listQuotas(db, query, viewer),
});
