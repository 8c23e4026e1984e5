import type { SessionId } from '../../contract/index.js';
import type { StoreContext } from '../context.js';
import { advisoryKey, type Database } from '../database.js';
import { endOrphan } from '../sessions/finish.js';
import { sql } from '../sql.js';
import type { ControlStore } from '../store.js';
import { audit } from './audit.js';
import { metrics } from './metrics.js';

/** Somebody who marks each few seconds and then stops for this long was away. */
const GAP = sql`interval '15 seconds'`;

async function alone<Result>(db: Database, name: string, work: () => Promise<Result>): Promise<Result | null> {
  const connection = await db.connect();
  let isBroken = true;
  try {
    const row = await connection.first<{ mine: boolean }>(
      sql`SELECT pg_try_advisory_lock(${advisoryKey(`alone:${name}`)}) AS mine`,
    );
    if (row?.mine !== true) {
      isBroken = false;
      return null;
    }
    const result = await work();
    await connection.run(sql`SELECT pg_advisory_unlock(${advisoryKey(`alone:${name}`)})`);
    isBroken = false;
    return result;
  } finally {
    connection.release(isBroken); // a connection that is dropped drops its lock
  }
}

type OpenSessions = Awaited<ReturnType<ControlStore['openSessions']>>;

export const createControlStore = ({ db, notifier }: StoreContext): ControlStore => ({
  markUp: async () => {
    await db.run(sql`
      INSERT INTO control_uptime AS c (up_since, marked_at) VALUES (now(), now())
      ON CONFLICT (one) DO UPDATE SET marked_at = now(),
        up_since = CASE WHEN c.marked_at < now() - ${GAP} THEN now() ELSE c.up_since END`);
  },
  alone: (name, work) => alone(db, name, work),
  openSessions: (after, limit) =>
    db.rows<OpenSessions[number] & { readonly sessionId: SessionId }>(sql`
      SELECT id AS "sessionId", state, attempt, (extract(epoch FROM now() - created_at) * 1000)::bigint AS "ageMs"
      FROM sessions WHERE ended_at IS NULL AND id > ${after ?? ''} ORDER BY id LIMIT ${limit}`),
  endOrphan: async (sessionId, cause) => {
    await db.transaction((tx) => endOrphan(tx, sessionId, cause));
    notifier.changed([sessionId]);
  },
  endedOrMissing: async (ids) => {
    const rows = await db.rows<{ id: string }>(sql`
      SELECT asked.id FROM unnest(${ids}::text[]) AS asked(id)
      WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = asked.id AND s.ended_at IS NULL)
        AND NOT EXISTS (SELECT 1 FROM submissions b WHERE b.session_id = asked.id AND b.answered_at IS NULL)`);
    return rows.map((row) => row.id);
  },
  groups: async () =>
    (await db.rows<{ name: string }>(sql`SELECT name FROM resource_groups ORDER BY name`)).map((row) => row.name),
  nodes: async () =>
    (await db.rows<{ name: string }>(sql`SELECT name FROM nodes WHERE removed_at IS NULL ORDER BY name`)).map(
      (row) => row.name,
    ),
  audit: () => audit(db),
  metrics: () => metrics(db),
});
