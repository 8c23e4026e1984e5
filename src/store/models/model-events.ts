import type { ModelEvent, Page, PageQuery } from '../../contract/index.js';
import { decodeCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';

export interface NewModelEvent {
  readonly claimId: string;
  readonly kind: string;
  readonly message: string;
  readonly actor: string;
  readonly instanceId?: string | null;
  readonly from?: string | null;
  readonly to?: string | null;
  readonly reason?: string | null;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** In the transaction of the change that it tells of. */
export async function recordModelEvent(tx: Runner, event: NewModelEvent): Promise<void> {
  await tx.run(sql`
    INSERT INTO model_events (claim_id, kind, instance_id, from_value, to_value, reason, message, data, actor)
    VALUES (${event.claimId}, ${event.kind}, ${event.instanceId ?? null}, ${event.from ?? null}, ${event.to ?? null},
      ${event.reason ?? null}, ${event.message}, ${json(event.data ?? {})}::jsonb, ${event.actor})`);
}

/** So many at a time: a sweep comes again. */
const TRIMMED_MAX = 5_000;
/** What the rows of both indexes of 0013 are kept for. */
const KEPT = [
  { events: sql`kind = 'limits'`, days: 14 },
  { events: sql`kind NOT IN ('limits', 'claimed', 'changed', 'ending', 'ended')`, days: 90 },
] as const;

/**
 * Divisions of the KV cache are kept for 14 days, what else happens by itself for 90; what somebody asked of a claim, and its end,
 * for as long as its row. Answers how many went.
 */
export async function trimModelEvents(tx: Runner): Promise<number> {
  let trimmed = 0;
  for (const { events, days } of KEPT)
    trimmed += await tx.run(sql`
      DELETE FROM model_events WHERE id IN (
        SELECT id FROM model_events WHERE ${events} AND at < now() - ${days}::int * interval '1 day' ORDER BY at LIMIT ${TRIMMED_MAX}::int)`);
  return trimmed;
}

/** Oldest first. */
export async function readModelEvents(tx: Runner, claimId: string, query: PageQuery): Promise<Page<ModelEvent>> {
  const key = decodeCursor(query.cursor, 2);
  const rows = await tx.rows<ModelEvent>(sql`
    SELECT e.id, e.at, e.kind, e.instance_id AS "instanceId", e.from_value AS "from", e.to_value AS "to", e.reason, e.message,
      e.data, e.actor FROM model_events e
    WHERE e.claim_id = ${claimId} AND ${key === null ? sql`true` : sql`e.id > ${key[1]}::bigint`}
    ORDER BY e.id LIMIT ${query.limit + 1}`);
  return pageOfRows(rows, query, { item: (row) => row, key: (row) => [row.at, String(row.id)] });
}
