import type { ModelUsage, Page } from '../../contract/index.js';
import { encodeCursor } from '../cursor.js';
import type { Runner } from '../database.js';
import type { ModelScope, ModelStore } from '../model-store.js';
import { allOf, json, type Sql, sql } from '../sql.js';

type Rows = Parameters<ModelStore['recordUsage']>[0];
type Query = Parameters<ModelStore['usage']>[0];

/** Added once a batch, in one order of rows, so that two gateways wait for each other and never in a circle. */
export async function recordUsage(tx: Runner, rows: Rows, batchId: string): Promise<void> {
  const isNew = await tx.run(sql`INSERT INTO model_usage_batches (id) VALUES (${batchId}) ON CONFLICT DO NOTHING`);
  if (isNew === 0) return;
  await tx.run(sql`DELETE FROM model_usage_batches WHERE at < now() - interval '1 day'`);
  await tx.run(sql`
    INSERT INTO model_usage AS u (hour, key_id, project, model, requests, failed, prompt_tokens, completion_tokens)
    SELECT date_trunc('hour', now()), r."keyId", r.project, r.model, sum(r.requests), sum(r.failed), sum(r."promptTokens"), sum(r."completionTokens")
    FROM jsonb_to_recordset(${json(rows)}::jsonb) AS r("keyId" text, project text, model text, requests bigint, failed bigint,
      "promptTokens" bigint, "completionTokens" bigint) JOIN api_keys k ON k.id = r."keyId"
    GROUP BY r."keyId", r.project, r.model ORDER BY r."keyId", r.project, r.model
    ON CONFLICT (hour, key_id, project, model) DO UPDATE SET requests = u.requests + excluded.requests, failed = u.failed + excluded.failed,
      prompt_tokens = u.prompt_tokens + excluded.prompt_tokens, completion_tokens = u.completion_tokens + excluded.completion_tokens`);
}

/** `hour`, key, project and model of the last row of a page. */
function afterRow(cursor: string | undefined): Sql {
  if (cursor === undefined) return sql`true`;
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (!Array.isArray(key) || key.length !== 4 || !key.every((part) => typeof part === 'string')) return sql`true`;
    const [hour, keyId, project, model] = key as readonly string[];
    if (Number.isNaN(Date.parse(String(hour)))) return sql`true`;
    const older = sql`(u.hour = ${hour}::timestamptz AND (u.key_id, u.project, u.model) > (${keyId}::text, ${project}::text, ${model}::text))`;
    return sql`(u.hour < ${hour}::timestamptz OR ${older})`;
  } catch {
    return sql`true`;
  }
}

/** The newest hour first. */
export async function readUsage(tx: Runner, query: Query, { projects }: ModelScope): Promise<Page<ModelUsage>> {
  const conditions = [
    afterRow(query.cursor),
    ...(projects === null ? [] : [sql`u.project = ANY(${projects}::text[])`]),
    ...(query.model === undefined ? [] : [sql`u.model = ${query.model}`]),
    ...(query.since === undefined ? [] : [sql`u.hour >= date_trunc('hour', ${query.since}::timestamptz)`]),
  ];
  const rows = await tx.rows<ModelUsage>(sql`
    SELECT u.hour, u.key_id AS "keyId", u.project, u.model, u.requests, u.failed, u.prompt_tokens AS "promptTokens",
      u.completion_tokens AS "completionTokens"
    FROM model_usage u WHERE ${allOf(conditions)} ORDER BY u.hour DESC, u.key_id, u.project, u.model LIMIT ${query.limit + 1}`);
  const items = rows.slice(0, query.limit);
  const last = items.at(-1);
  const hasMore = rows.length > query.limit && last !== undefined;
  return { items, nextCursor: hasMore ? encodeCursor([last.hour, last.keyId, last.project, last.model]) : null };
}
