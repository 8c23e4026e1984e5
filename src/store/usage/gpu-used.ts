import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import type { GpuUsed, UsageStore } from '../usage-store.js';

/**
 * Busy time of a kernel's devices × what each of them is charged with, as the reservation says (GPUs × factor, in
 * thousandths). Of a share it is the device's busy time: whose it was, nobody knows.
 */
export const gpuUsed = (
  db: Runner,
  { from, until, sessionIds }: Parameters<UsageStore['gpuUsed']>[0],
): Promise<GpuUsed[]> =>
  db.rows<GpuUsed>(sql`
    SELECT r.session_id AS "sessionId", round(sum(h.busy_ms * part.share * each.milli))::bigint AS "usedMilliGpuMs",
      round(sum(h.observed_ms * part.share * each.milli))::bigint AS "observedMilliGpuMs"
    FROM gpu_use_hours h JOIN reservations r ON r.kernel_id = h.kernel_id AND r.attempt = h.attempt
    CROSS JOIN LATERAL (SELECT extract(epoch FROM least(h.hour + interval '1 hour', ${until}::timestamptz)
      - greatest(h.hour, ${from}::timestamptz)) / 3600 AS share) part
    CROSS JOIN LATERAL (SELECT coalesce(nullif(r.milli_gpus, 0)::numeric / nullif(count(*), 0), 1000) AS milli
      FROM device_holds d WHERE d.reservation_id = r.id) each
    WHERE h.hour > ${from}::timestamptz - interval '1 hour' AND h.hour < ${until}::timestamptz
      AND (${sessionIds === undefined} OR r.session_id = ANY(${sessionIds ?? []}::text[]))
    GROUP BY r.session_id ORDER BY r.session_id`);
