import type { Plan } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';

/** The order in which the pass considered those who wait; written only where it is another one. */
export async function writeOrder(tx: Runner, { group, order }: Pick<Plan, 'group' | 'order'>): Promise<void> {
  if (order === null) return;
  await tx.run(sql`
    INSERT INTO group_orders AS o (group_name, session_ids) VALUES (${group}, ${order}::text[])
    ON CONFLICT (group_name) DO UPDATE SET session_ids = excluded.session_ids, written_at = now()
    WHERE o.session_ids <> excluded.session_ids`);
}

/** Behind everybody who has a place: who came since the last pass, in the queue's own order. */
const LAST = 2_147_483_647;

/** Those who wait in the group, with `place`: where the last pass had them, or 0 for all where the queue's own order holds. */
export const waitingOf = (group: string, isFairShare: boolean): Sql =>
  isFairShare
    ? sql`(SELECT s.*, coalesce(o.place, ${LAST}::bigint) AS place FROM sessions s LEFT JOIN (
        SELECT u.id, u.place FROM group_orders g CROSS JOIN LATERAL unnest(g.session_ids) WITH ORDINALITY AS u(id, place)
        WHERE g.group_name = ${group}) o ON o.id = s.id WHERE s.group_name = ${group} AND s.state = 'PENDING')`
    : sql`(SELECT *, 0::bigint AS place FROM sessions WHERE group_name = ${group} AND state = 'PENDING')`;
