import type { DeploymentEvent, Page, PageQuery } from '../../contract/index.js';
import { decodeCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';

export interface NewDeploymentEvent {
  readonly deploymentId: string;
  readonly kind: string;
  readonly message: string;
  readonly actor: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** So many are kept of a deployment, events and decisions each; older ones go as new ones come. */
export const KEPT = 500;

/** In the transaction of the change that it tells of, under the deployment's lock. One that equals the last is that, once more. */
export async function recordDeploymentEvent(tx: Runner, event: NewDeploymentEvent): Promise<void> {
  const { deploymentId, kind, message, actor } = event;
  const data = json(event.data ?? {});
  const again = await tx.run(sql`
    UPDATE deployment_events SET count = count + 1, at = clock_timestamp()
    WHERE id = (SELECT max(id) FROM deployment_events WHERE deployment_id = ${deploymentId})
      AND kind = ${kind} AND message = ${message} AND actor = ${actor} AND data = ${data}::jsonb`);
  if (again > 0) return;
  await tx.run(sql`
    INSERT INTO deployment_events (deployment_id, kind, message, data, actor)
    VALUES (${deploymentId}, ${kind}, ${message}, ${data}::jsonb, ${actor})`);
  await tx.run(sql`
    DELETE FROM deployment_events WHERE deployment_id = ${deploymentId} AND id <= (
      SELECT id FROM deployment_events WHERE deployment_id = ${deploymentId} ORDER BY id DESC OFFSET ${KEPT}::int LIMIT 1)`);
}

const EVENT = sql`e.id, e.at, e.first_at AS "firstAt", e.count, e.kind, e.message, e.data, e.actor`;

/** Oldest first. */
export async function readDeploymentEvents(
  tx: Runner,
  deploymentId: string,
  query: PageQuery,
): Promise<Page<DeploymentEvent>> {
  const key = decodeCursor(query.cursor, 2);
  const rows = await tx.rows<DeploymentEvent>(sql`
    SELECT ${EVENT} FROM deployment_events e
    WHERE e.deployment_id = ${deploymentId} AND ${key === null ? sql`true` : sql`e.id > ${key[1]}::bigint`}
    ORDER BY e.id LIMIT ${query.limit + 1}`);
  return pageOfRows(rows, query, { item: (row) => row, key: (row) => [row.at, String(row.id)] });
}

/** The newest first. */
export const newestEvents = (tx: Runner, deploymentId: string, limit: number): Promise<DeploymentEvent[]> =>
  tx.rows<DeploymentEvent>(
    sql`SELECT ${EVENT} FROM deployment_events e WHERE e.deployment_id = ${deploymentId} ORDER BY e.id DESC LIMIT ${limit}`,
  );
