import type { Page, PageQuery, Pool } from '../../contract/index.js';
import { afterCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import type { ModelScope } from '../model-store.js';
import { type Sql, sql } from '../sql.js';

const MEMBER = sql`
  json_build_object('sessionId', m.session_id, 'ordinal', m.ordinal, 'state', m.state, 'node', m.node,
    'reason', CASE WHEN m.state IN ('WAITING', 'STARTING') THEN coalesce(m.refusal->>'detail', m.session_message, m.session_reason)
      WHEN m.unreachable_at IS NOT NULL THEN 'its node gave no answer about limits' END)`;

const poolsWhere = (condition: Sql): Sql => sql`
  SELECT p.name, project_path(p.project_id) AS project, p.group_name AS group, p.engine, p.member - 'environment' AS member,
    p.members_wanted AS "membersWanted", p.policy, p.draining AS "isDraining", p.created_at AS "createdAt",
    (SELECT coalesce(json_agg(${MEMBER} ORDER BY m.ordinal), '[]') FROM model_members m WHERE m.pool = p.name) AS members,
    (SELECT coalesce(json_agg(project_path(a.project_id) ORDER BY project_path(a.project_id)), '[]')
      FROM pool_projects a WHERE a.pool = p.name) AS projects,
    (SELECT count(*)::int FROM model_claims c WHERE c.pool = p.name AND c.ended_at IS NULL) AS claims
  FROM pools p WHERE ${condition}`;

/** Pools of these projects, and those that they may claim from. */
const visible = ({ projects }: ModelScope): Sql =>
  projects === null
    ? sql`true`
    : sql`(project_path(p.project_id) = ANY(${projects}::text[]) OR EXISTS (
        SELECT 1 FROM pool_projects a WHERE a.pool = p.name AND project_path(a.project_id) = ANY(${projects}::text[])))`;

export const everything: ModelScope = { projects: null };

export const readPoolView = async (tx: Runner, name: string, scope: ModelScope): Promise<Pool | null> =>
  (await tx.first<Pool>(poolsWhere(sql`p.name = ${name} AND p.removed_at IS NULL AND ${visible(scope)}`))) ?? null;

/** Also one that is removed, while its members end. */
export const readAnyPool = async (tx: Runner, name: string): Promise<Pool | null> =>
  (await tx.first<Pool>(poolsWhere(sql`p.name = ${name}`))) ?? null;

export async function listPools(tx: Runner, query: PageQuery, scope: ModelScope): Promise<Page<Pool>> {
  const after = afterCursor(query, { created: sql`p.created_at`, id: sql`p.name`, newestFirst: false });
  const rows = await tx.rows<Pool>(sql`
    ${poolsWhere(sql`p.removed_at IS NULL AND ${visible(scope)} AND ${after}`)} ORDER BY p.created_at, p.name LIMIT ${query.limit + 1}`);
  return pageOfRows(rows, query, { item: (row) => row, key: (row) => [row.createdAt, row.name] });
}
