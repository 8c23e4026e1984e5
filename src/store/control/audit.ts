import type { Database } from '../database.js';
import { DEPLOYMENT_CHECKS } from '../deployments/audit-checks.js';
import { sql } from '../sql.js';

const LIVE = sql`('SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING', 'PREEMPTING', 'TERMINATING')`;

/** How often each invariant of the ledger is broken, in one consistent view: all 0 in a sound one. */
export async function audit(db: Database): Promise<Readonly<Record<string, number>>> {
  const row = await db.transaction(
    (tx) =>
      tx.first<Record<string, number>>(sql`
    WITH counted AS (
      SELECT node, sum(cpu_milli) AS cpu, sum(memory_bytes) AS memory, sum(gpu_count) AS gpus
      FROM reservations WHERE NOT folded GROUP BY node),
    open_devices AS (
      SELECT node, device_id, count(*) FILTER (WHERE memory_bytes IS NULL) AS whole, count(memory_bytes) AS shares,
        coalesce(sum(memory_bytes), 0) AS shared
      FROM device_holds WHERE released_at IS NULL GROUP BY node, device_id)
    SELECT
      (SELECT count(*) FROM node_use WHERE cpu_milli_used > cpu_milli_limit OR memory_bytes_used > memory_bytes_limit
        OR gpu_count_used > gpu_count_limit OR least(cpu_milli_used, memory_bytes_used, gpu_count_used) < 0)::int AS "promisedAboveLimit",
      (SELECT count(*) FROM node_use u LEFT JOIN counted c ON c.node = u.node
        WHERE u.cpu_milli_used <> coalesce(c.cpu, 0) OR u.memory_bytes_used <> coalesce(c.memory, 0)
          OR u.gpu_count_used <> coalesce(c.gpus, 0))::int AS "useDiffersFromReservations",
      (SELECT count(*) FROM reservations WHERE folded AND released_at IS NULL)::int AS "openButFolded",
      (SELECT count(*) FROM device_holds h LEFT JOIN reservations r ON r.id = h.reservation_id
        WHERE h.released_at IS NULL AND (r.id IS NULL OR r.released_at IS NOT NULL))::int AS "holdsWithoutReservation",
      (SELECT count(*) FROM reservations r CROSS JOIN LATERAL (
          SELECT count(*) FILTER (WHERE h.memory_bytes IS NULL) AS whole, count(h.memory_bytes) AS shares
          FROM device_holds h WHERE h.reservation_id = r.id AND h.released_at IS NULL) h
        WHERE r.released_at IS NULL AND (r.gpu_count <> h.whole OR (r.gpu_memory_bytes > 0)::int <> h.shares))::int
        AS "reservationsWithOtherDevices",
      (SELECT count(*) FROM open_devices WHERE whole > 1 OR whole = 1 AND shares > 0)::int AS "devicesHeldTwice",
      (SELECT count(*) FROM open_devices o JOIN devices d ON d.node = o.node AND d.id = o.device_id
        WHERE o.shared > d.memory_bytes OR d.sharing = 'mig' AND o.shares > 1)::int AS "sharesAboveDevice",
      (SELECT count(*) FROM device_use u LEFT JOIN (
          SELECT node, device_id, count(*) FILTER (WHERE memory_bytes IS NULL) AS whole, count(memory_bytes) AS shares,
            coalesce(sum(memory_bytes), 0) AS shared FROM device_holds WHERE NOT folded GROUP BY node, device_id) h
          ON h.node = u.node AND h.device_id = u.device_id
        WHERE u.whole <> coalesce(h.whole, 0) OR u.shares <> coalesce(h.shares, 0) OR u.shared_bytes <> coalesce(h.shared, 0))::int
        AS "deviceUseDiffersFromHolds",
      (SELECT count(*) FROM room_holds h LEFT JOIN sessions s ON s.id = h.session_id WHERE s.state IS DISTINCT FROM 'PENDING')::int
        AS "roomKeptForNobody",
      (SELECT count(*) FROM sessions s WHERE s.state = 'PREEMPTING' AND (s.preempt_cause IS NULL OR s.preempt_then IS NULL))::int
        AS "preemptingWithoutOrder",
      (SELECT count(*) FROM sessions s WHERE s.state = 'PENDING' AND (s.stop_requested_at IS NOT NULL OR s.cause IS NOT NULL
        OR s.preempt_cause IS NOT NULL OR s.started_at IS NOT NULL))::int AS "waitingWithAnEnd",
      (SELECT count(*) FROM nodes n WHERE n.drained_at IS NOT NULL AND n.removed_at IS NULL AND EXISTS (
        SELECT 1 FROM reservations r WHERE r.node = n.name AND r.released_at IS NULL))::int AS "drainedButHeld",
      (SELECT count(*) FROM nodes n WHERE n.state <> node_state(n))::int AS "nodesInOtherState",
      (SELECT count(*) FROM (SELECT 1 FROM reservations WHERE released_at IS NULL GROUP BY kernel_id HAVING count(*) > 1) k)::int
        AS "kernelsPlacedTwice",
      (SELECT count(*) FROM reservations r JOIN sessions s ON s.id = r.session_id
        WHERE r.released_at IS NULL AND s.ended_at IS NOT NULL)::int AS "reservedByEnded",
      (SELECT count(*) FROM reservations r JOIN sessions s ON s.id = r.session_id
        WHERE r.released_at IS NULL AND (s.state NOT IN ${LIVE} OR s.attempt <> r.attempt) AND s.ended_at IS NULL)::int AS "reservedByWaiting",
      (SELECT count(*) FROM sessions s WHERE s.state IN ('SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING', 'PREEMPTING') AND
        (SELECT count(*) FROM reservations r WHERE r.session_id = s.id AND r.attempt = s.attempt AND r.released_at IS NULL) <>
        (SELECT count(*) FROM kernels k WHERE k.session_id = s.id))::int AS "placedInPart",
      (SELECT count(*) FROM sessions WHERE ended_at IS NULL AND state IN ('TERMINATED', 'CANCELLED', 'ERROR')
        OR ended_at IS NOT NULL AND state NOT IN ('TERMINATED', 'CANCELLED', 'ERROR'))::int AS "endedWithoutTime",
      (SELECT count(*) FROM sessions WHERE ended_at IS NOT NULL AND (result = 'none' OR cause IS NULL))::int AS "endedWithoutResult",
      ${DEPLOYMENT_CHECKS}`),
    'snapshot',
  );
  return row ?? {};
}
