import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/** Each reservation ends once; its place in the node's use is folded in by the next pass. Devices in one order. */
export async function release(tx: Runner, sessionId: string, nodeReleased: boolean): Promise<void> {
  await tx.run(sql`
    UPDATE reservations SET released_at = now(), node_released = ${nodeReleased}
    WHERE session_id = ${sessionId} AND released_at IS NULL`);
  await tx.run(sql`
    UPDATE device_holds h SET released_at = now()
    FROM (SELECT id FROM device_holds WHERE session_id = ${sessionId} AND released_at IS NULL ORDER BY node, device_id FOR UPDATE) mine
    WHERE h.id = mine.id AND h.released_at IS NULL`);
}

/** The nodes of that attempt said that they have let go. Of an earlier one on a dead node only its own reconciliation says so. */
export async function acknowledgeNodes(tx: Runner, sessionId: string, attempt: number): Promise<void> {
  await tx.run(sql`
    UPDATE reservations SET node_released = true
    WHERE session_id = ${sessionId} AND attempt = ${attempt} AND released_at IS NOT NULL AND NOT node_released`);
}

/** The platform failed the attempt, or broke what it had promised: its time costs nothing. */
export async function waiveCharge(tx: Runner, sessionId: string, attempt: number): Promise<void> {
  await tx.run(sql`
    UPDATE reservations SET charged = false WHERE session_id = ${sessionId} AND attempt = ${attempt} AND charged`);
}
