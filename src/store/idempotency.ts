import type { SessionId } from '../contract/index.js';
import type { StoreContext } from './context.js';
import type { Submission } from './session-store.js';
import { json, sql } from './sql.js';
import type { IdempotencyStore } from './store.js';

interface KeyRow {
  readonly body_hash: Buffer;
  readonly resource_id: string;
  readonly status: number | null;
  readonly body: unknown;
  readonly is_new: boolean;
}
type Entry = Parameters<IdempotencyStore['begin']>[0];

const DIED_AFTER_SECONDS = 120;

/** A first try that gave no answer for longer than any request lives has died; one of those who come back goes on. */
async function takeOver(db: StoreContext['db'], { principal, route, key }: Entry): Promise<boolean> {
  const taken = await db.run(sql`
    UPDATE idempotency SET created_at = now()
    WHERE principal = ${principal} AND route = ${route} AND key = ${key} AND status IS NULL
      AND created_at < now() - ${DIED_AFTER_SECONDS}::int * interval '1 second'`);
  return taken > 0;
}

/** Kept for 24 h. */
export function createIdempotencyStore({ db }: StoreContext): IdempotencyStore {
  const begin = async (entry: Entry) => {
    const row = await db.first<KeyRow>(sql`
      WITH fresh AS (
        INSERT INTO idempotency (principal, route, key, body_hash, resource_id)
        VALUES (${entry.principal}, ${entry.route}, ${entry.key}, ${entry.bodyHash}, ${entry.resourceId})
        ON CONFLICT DO NOTHING RETURNING body_hash, resource_id, status, body)
      SELECT *, true AS is_new FROM fresh
      UNION ALL
      SELECT body_hash, resource_id, status, body, false FROM idempotency
      WHERE principal = ${entry.principal} AND route = ${entry.route} AND key = ${entry.key}
      ORDER BY is_new DESC LIMIT 1`);
    // Two first calls at once: the loser's statement began before the winner committed and sees neither row.
    if (row === undefined) return { outcome: 'running' as const, resourceId: await resourceOf(entry) };
    if (row.is_new) return { outcome: 'new' as const, resourceId: row.resource_id };
    if (!row.body_hash.equals(entry.bodyHash)) return { outcome: 'reused' as const };
    if (row.status === null) {
      const outcome = (await takeOver(db, entry)) ? ('new' as const) : ('running' as const);
      return { outcome, resourceId: row.resource_id };
    }
    return { outcome: 'done' as const, resourceId: row.resource_id, status: row.status, body: row.body };
  };
  const resourceOf = async (entry: Entry): Promise<string> => {
    const row = await db.first<{ resource_id: string }>(sql`
      SELECT resource_id FROM idempotency
      WHERE principal = ${entry.principal} AND route = ${entry.route} AND key = ${entry.key}`);
    return row?.resource_id ?? entry.resourceId;
  };
  return {
    begin,
    finish: async (entry) => {
      await db.run(sql`
        UPDATE idempotency SET status = ${entry.status}, body = ${json(entry.body ?? null)}::jsonb
        WHERE principal = ${entry.principal} AND route = ${entry.route} AND key = ${entry.key} AND status IS NULL`);
    },
    forget: async (entry) => {
      await db.run(sql`
        DELETE FROM idempotency
        WHERE principal = ${entry.principal} AND route = ${entry.route} AND key = ${entry.key} AND status IS NULL`);
    },
    putSubmission: async (submission: Submission) => {
      await db.run(sql`
        INSERT INTO submissions (session_id, principal, spec, sealed_secrets, submitted_at)
        VALUES (${submission.sessionId}, ${json(submission.principal)}::jsonb, ${json(submission.spec)}::jsonb,
                ${submission.sealedSecrets}, ${submission.submittedAt})
        ON CONFLICT DO NOTHING`);
    },
    orphanSubmissions: async (olderThanMs, limit) => {
      const rows = await db.rows<{ session_id: SessionId }>(sql`
        SELECT session_id FROM submissions
        WHERE answered_at IS NULL AND submitted_at < now() - ${olderThanMs}::float8 * interval '1 ms'
        ORDER BY submitted_at LIMIT ${limit}`);
      return rows.map((row) => row.session_id);
    },
    sweep: () => db.run(sql`DELETE FROM idempotency WHERE created_at < now() - interval '24 hours'`),
  };
}
