import type { KernelId, Page, Principal, Session, SessionId, SessionState } from '../../contract/index.js';
import { afterCursor, pageOfRows } from '../cursor.js';
import type { Database } from '../database.js';
import type { SessionQuery, SessionStore } from '../session-store.js';
import { allOf, json, type Sql, sql } from '../sql.js';
import { candidate } from './candidate.js';
import { type SessionRow, sessionsOf, toSession } from './read-session.js';
import { getSubmitted } from './submitted-session.js';
import { sessionVisible } from './visible.js';

async function readOne(db: Database, where: Sql): Promise<Session | null> {
  const row = await db.first<SessionRow>(sessionsOf(sql`SELECT * FROM sessions s WHERE ${where} LIMIT 1`));
  return row === undefined ? null : toSession(row);
}

/** The id first; by name the open one before the newest that ended. Names can repeat across projects: one's own first. */
async function find(db: Database, idOrName: string, viewer: Principal): Promise<Session | null> {
  const byId = await readOne(db, sql`s.id = ${idOrName} AND ${sessionVisible(viewer)}`);
  if (byId !== null) return byId;
  return readOne(
    db,
    sql`s.name = ${idOrName} AND ${sessionVisible(viewer)}
      ORDER BY s.ended_at IS NULL DESC, s.user_id = ${viewer.userId} DESC, s.created_at DESC, s.id DESC`,
  );
}

/** `domain/name` or a name. */
const inProject = (project: string): Sql => sql`s.project_id IN (
  SELECT p.id FROM projects p JOIN domains d ON d.id = p.domain_id WHERE ${project} IN (p.name, d.name || '/' || p.name))`;

/** `key:value`, or `key` for any value. */
function hasLabel(label: string): Sql {
  const at = label.indexOf(':');
  return at < 0
    ? sql`s.labels ? ${label}::text`
    : sql`s.labels @> ${json({ [label.slice(0, at)]: label.slice(at + 1) })}::jsonb`;
}

function conditionsOf(query: SessionQuery): readonly Sql[] {
  return [
    ...(query.state === undefined || query.state.length === 0
      ? []
      : [sql`s.state = ANY(${query.state.map((state) => state.toUpperCase())}::text[])`]),
    ...(query.open === undefined ? [] : [query.open ? sql`s.ended_at IS NULL` : sql`s.ended_at IS NOT NULL`]),
    ...(query.project === undefined ? [] : [inProject(query.project)]),
    ...(query.user === undefined ? [] : [sql`s.user_id IN (SELECT id FROM users WHERE name = ${query.user})`]),
    ...(query.group === undefined ? [] : [sql`s.group_name = ${query.group}`]),
    ...(query.name === undefined ? [] : [sql`s.name = ${query.name}`]),
    ...(query.label ?? []).map(hasLabel),
  ];
}

async function list(db: Database, query: SessionQuery, viewer: Principal): Promise<Page<Session>> {
  const after = afterCursor(query, { created: sql`s.created_at`, id: sql`s.id`, newestFirst: true });
  const where = allOf([sessionVisible(viewer), after, ...conditionsOf(query)]);
  const rows = await db.rows<SessionRow>(
    sessionsOf(
      sql`SELECT * FROM sessions s WHERE ${where} ORDER BY s.created_at DESC, s.id DESC LIMIT ${query.limit + 1}`,
    ),
  );
  return pageOfRows(rows, query, { item: toSession, key: (row) => [row.createdAt, row.id] });
}

interface LocatedRow {
  readonly kernelId: KernelId;
  readonly attempt: number;
  readonly node: string;
  readonly agentUrl: string | null;
  readonly state: SessionState;
}

async function locateKernel(
  db: Database,
  sessionId: SessionId,
  kernel: string,
): ReturnType<SessionStore['locateKernel']> {
  const row = await db.first<LocatedRow>(sql`
    SELECT k.id AS "kernelId", r.attempt, r.node, n.agent_url AS "agentUrl", s.state
    FROM sessions s JOIN kernels k ON k.session_id = s.id
    JOIN reservations r ON r.kernel_id = k.id AND r.attempt = s.attempt JOIN nodes n ON n.name = r.node
    WHERE s.id = ${sessionId} AND ${kernel} IN (k.id, k.role, k.hostname)`);
  return row === undefined || row.agentUrl === null ? null : { ...row, agentUrl: row.agentUrl };
}

export const createSessionQueries = (
  db: Database,
): Pick<SessionStore, 'get' | 'find' | 'list' | 'getSubmitted' | 'locateKernel' | 'candidate'> => ({
  get: (sessionId, viewer) => readOne(db, sql`s.id = ${sessionId} AND ${sessionVisible(viewer)}`),
  find: (idOrName, viewer) => find(db, idOrName, viewer),
  list: (query, viewer) => list(db, query, viewer),
  getSubmitted: (sessionId, viewer) => getSubmitted(db, sessionId, viewer),
  locateKernel: (sessionId, kernel) => locateKernel(db, sessionId, kernel),
  candidate,
});
