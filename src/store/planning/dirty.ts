import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/** A flag that is on for longer than this without a pass was lost on the way: whoever comes next may signal again. */
const LOST_AFTER_MS = 2000;

/** `onlyIfWaiting`: not when nobody waits, be it for room, or for a node to become empty. */
export async function markDirty(db: Runner, group: string, onlyIfWaiting: boolean): Promise<boolean> {
  const someoneWaits = sql`(EXISTS (SELECT 1 FROM sessions WHERE group_name = ${group} AND state = 'PENDING')
    OR EXISTS (SELECT 1 FROM nodes WHERE group_name = ${group} AND drained_at IS NULL
      AND (drain_since IS NOT NULL OR unhealthy_reason IS NOT NULL)))`;
  const turnedOn = await db.run(sql`
    UPDATE group_dirty SET dirty_at = now()
    WHERE group_name = ${group} AND (dirty_at IS NULL OR dirty_at < now() - ${LOST_AFTER_MS} * interval '1 ms')
      AND ${onlyIfWaiting ? someoneWaits : sql`true`}`);
  return turnedOn === 1;
}
