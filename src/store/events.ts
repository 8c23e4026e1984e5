import type { AuditEntry, Principal, SessionEvent } from '../contract/index.js';
import type { StoreContext } from './context.js';
import { decodeCursor, pageOfRows } from './cursor.js';
import { listenForEvents } from './listener.js';
import { sessionVisible } from './sessions/visible.js';
import { json, type Sql, sql } from './sql.js';
import type { EventStore } from './store.js';

const EVENT = sql`
  SELECT e.xid::text || '-' || e.seq AS id, e.session_id AS "sessionId", e.at, e.kind, e.from_value AS "from", e.to_value AS "to",
    e.cause, e.actor, e.attempt, e.message, e.data FROM session_events e`;

/** Below the oldest running transaction everything is decided: nothing commits there later, so no reader skips it. */
const SETTLED = sql`e.xid < pg_snapshot_xmin(pg_current_snapshot())`;

/** `<xid>-<seq>`; anything else starts at the beginning. */
const after = (cursor: string | null): Sql => {
  const parts = /^(\d{1,19})-(\d{1,18})$/.exec(cursor ?? '');
  return parts === null ? sql`true` : sql`(e.xid, e.seq) > (${parts[1]}::text::xid8, ${parts[2]}::bigint)`;
};

type AuditRow = AuditEntry & { readonly seq: string };

const AUDIT = sql`
  SELECT a.seq::text AS seq, 'aud_' || a.seq AS id, a.at, a.actor, a.on_behalf_of AS "onBehalfOf", a.action, a.object, a.data,
    a.request_id AS "requestId" FROM audit_log a`;

/** Operators see the whole log, a domain-admin that of the people of its domain, a user its own. */
const auditVisible = (viewer: Principal): Sql => {
  if (viewer.role === 'operator') return sql`true`;
  return viewer.role === 'domain-admin'
    ? sql`(a.actor IN (SELECT name FROM users WHERE domain_id = ${viewer.domainId})
        OR a.on_behalf_of IN (SELECT name FROM users WHERE domain_id = ${viewer.domainId}))`
    : sql`${viewer.userName} IN (a.actor, a.on_behalf_of)`;
};

export function createEventStore(context: StoreContext): EventStore {
  const { db } = context;
  return {
    ofSession: (sessionId, cursor, limit) =>
      db.rows<SessionEvent>(sql`
        ${EVENT} WHERE e.session_id = ${sessionId} AND ${after(cursor)} AND ${SETTLED} ORDER BY e.xid, e.seq LIMIT ${limit}`),
    all: (cursor, limit, viewer) =>
      db.rows<SessionEvent>(sql`
        ${EVENT} JOIN sessions s ON s.id = e.session_id
        WHERE ${after(cursor)} AND ${SETTLED} AND ${sessionVisible(viewer)} ORDER BY e.xid, e.seq LIMIT ${limit}`),
    audit: async (entry) => {
      await db.run(sql`
        INSERT INTO audit_log (actor, on_behalf_of, action, object, data, request_id)
        VALUES (${entry.actor}, ${entry.onBehalfOf}, ${entry.action}, ${entry.object}, ${json(entry.data)}::jsonb, ${entry.requestId})`);
    },
    listAudit: async (query, viewer) => {
      const key = decodeCursor(query.cursor, 2);
      const older = key === null ? sql`true` : sql`a.seq < ${key[1]}::bigint`;
      const rows = await db.rows<AuditRow>(
        sql`${AUDIT} WHERE ${older} AND ${auditVisible(viewer)} ORDER BY a.seq DESC LIMIT ${query.limit + 1}`,
      );
      return pageOfRows(rows, query, { item: ({ seq: _, ...entry }) => entry, key: (row) => [row.at, row.seq] });
    },
    listen: (on) => listenForEvents(context, on),
  };
}
