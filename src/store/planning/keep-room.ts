import type { HoldOrder } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';

/** Room that is kept for a session replaces what was kept for it. How many rows changed. */
export async function keepRoom(tx: Runner, group: string, holds: readonly HoldOrder[]): Promise<number> {
  if (holds.length === 0) return 0;
  return tx.run(sql`
    INSERT INTO room_holds AS h (session_id, group_name, victims, kernels)
    SELECT o."sessionId", ${group}, o.victims, o.kernels
    FROM jsonb_to_recordset(${json(holds)}::jsonb) AS o("sessionId" text, victims jsonb, kernels jsonb)
    ON CONFLICT (session_id) DO UPDATE SET victims = excluded.victims, kernels = excluded.kernels
    WHERE h.victims <> excluded.victims OR h.kernels <> excluded.kernels`);
}

export const giveUpRoom = async (tx: Runner, sessions: readonly string[]): Promise<number> =>
  sessions.length === 0 ? 0 : tx.run(sql`DELETE FROM room_holds WHERE session_id = ANY(${sessions}::text[])`);

/** What was kept for sessions that wait no more keeps nothing: passes do not read it, and this removes it. */
export const forgetRoom = (tx: Runner, group: string): Promise<number> =>
  tx.run(sql`
    DELETE FROM room_holds h USING sessions s WHERE h.group_name = ${group} AND s.id = h.session_id AND s.state <> 'PENDING'`);
