import { type Plan, REASONS, type SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { json, type Sql, sql } from '../sql.js';

type Told = Pick<Plan, 'waiting' | 'reservations'>;

function rowsOf({ waiting, reservations }: Told): string {
  const reserved = new Map(
    reservations.map(({ sessionId, kernels }) => [
      sessionId,
      [...new Set(kernels.map((kernel) => kernel.node))].toSorted(),
    ]),
  );
  return json(
    waiting.map(({ expectedStart, decay, ...one }) => ({
      ...one,
      class: REASONS[one.reason],
      at: expectedStart.at,
      basis: expectedStart.basis,
      reserved: reserved.get(one.sessionId) ?? [],
      ...(decay === null ? { decays: false } : { decays: true, ...decay }),
    })),
  );
}

/** A start that moves by less than a second is the same start: it is worked out anew at each pass. */
const SAME_START = sql`
  coalesce(abs(extract(epoch FROM s.expected_start - w.at)) < 1, s.expected_start IS NULL AND w.at IS NULL)`;
const DIFFERS = sql`
  (s.reason IS DISTINCT FROM w.reason OR s.message IS DISTINCT FROM w.message OR s.blockers <> w.blockers
    OR s.violations <> w.violations OR s.node_verdict IS DISTINCT FROM nullif(w.nodes, 'null')
    OR s.nearest IS DISTINCT FROM nullif(w.nearest, 'null') OR s.reserved_nodes <> w.reserved
    OR s.expected_basis IS DISTINCT FROM w.basis OR NOT ${SAME_START})`;
/** Only on the row that the plan saw: what was counted for another version is not its own. */
const DECAYS = sql`(w.decays AND s.version = w.version AND (s.priority, s.decay_tries, s.decay_counted_at, s.blocked_since)
  IS DISTINCT FROM (w.priority, w.tries, w."countedAt", w."blockedSince"))`;

const written = (given: string): Sql => sql`
  WITH given AS (
    SELECT * FROM jsonb_to_recordset(${given}::jsonb) AS w("sessionId" text, version int, reason text, class text, message text,
      blockers jsonb, violations jsonb, nodes jsonb, nearest jsonb, at timestamptz, basis text, reserved jsonb, decays boolean,
      tries int, "countedAt" timestamptz, "blockedSince" timestamptz, priority int)),
  different AS (
    SELECT s.id, s.attempt, s.reason AS old_reason, s.priority AS old_priority, ${DECAYS} AS decayed, w.* FROM given w
    JOIN sessions s ON s.id = w."sessionId" WHERE s.state = 'PENDING' AND (${DIFFERS} OR ${DECAYS})
    ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED),
  told AS (
    UPDATE sessions s SET reason = d.reason, reason_class = d.class, message = d.message, blockers = d.blockers,
      violations = d.violations, node_verdict = nullif(d.nodes, 'null'), nearest = nullif(d.nearest, 'null'),
      expected_start = d.at, expected_basis = d.basis, reserved_nodes = d.reserved,
      reason_since = CASE WHEN s.reason IS DISTINCT FROM d.reason THEN now() ELSE s.reason_since END,
      priority = CASE WHEN d.decayed THEN d.priority ELSE s.priority END,
      decay_tries = CASE WHEN d.decayed THEN d.tries ELSE s.decay_tries END,
      decay_counted_at = CASE WHEN d.decayed THEN d."countedAt" ELSE s.decay_counted_at END,
      blocked_since = CASE WHEN d.decayed THEN d."blockedSince" ELSE s.blocked_since END
    FROM different d WHERE s.id = d.id)
  INSERT INTO session_events (session_id, kind, from_value, to_value, cause, actor, attempt, message, data)
  SELECT id, 'reason', old_reason, reason, reason, 'planner', attempt, message, jsonb_build_object('class', class)
  FROM different WHERE old_reason IS DISTINCT FROM reason
  UNION ALL
  SELECT id, 'note', old_priority::text, priority::text, 'decay', 'planner', attempt,
    format('its priority fell from %s to %s: it was blocked at the head', old_priority, priority), '{}'::jsonb
  FROM different WHERE decayed AND priority < old_priority
  RETURNING session_id`;

/**
 * Writes the reasons, starts and decay that differ from those written; an event only where the reason itself changed, or the
 * priority fell. A row that is being changed by somebody else is passed over: the next pass tells it. A second run changes nothing.
 */
export async function writeReasons(tx: Runner, told: Told): Promise<readonly SessionId[]> {
  if (told.waiting.length === 0) return [];
  const rows = await tx.rows<{ session_id: SessionId }>(written(rowsOf(told)));
  return [...new Set(rows.map((row) => row.session_id))];
}
