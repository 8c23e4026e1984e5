import type { ActivityReport } from '../../contract/index.js';
import { GATEWAY_GAP_MS } from '../../lifecycle/measurement-gap.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';

/** A gateway that was silent for longer began anew; one that is silent for this long was taken away. */
const GONE = sql`interval '10 minutes'`;

/** Requests only add up, so a report that comes twice counts them twice; when the last was is never later than it was. */
export async function recordActivity(tx: Runner, { gateway, sessions }: ActivityReport): Promise<void> {
  await tx.run(sql`
    INSERT INTO activity_gateways AS g (gateway) VALUES (${gateway}) ON CONFLICT (gateway) DO UPDATE SET reported_at = now(),
      since = CASE WHEN g.reported_at < now() - ${GATEWAY_GAP_MS}::float8 * interval '1 ms' THEN now() ELSE g.since END`);
  const told = json(sessions);
  await tx.run(sql`
    UPDATE app_activity SET in_flight = 0, last_at = greatest(last_at, now()) WHERE gateway = ${gateway} AND in_flight > 0
      AND session_id NOT IN (SELECT t."sessionId" FROM jsonb_to_recordset(${told}::jsonb) AS t("sessionId" text))`);
  if (sessions.length === 0) return;
  await tx.run(sql`
    WITH told AS (SELECT t.*, now() - t."quietMs" * interval '1 ms' AS at
        FROM jsonb_to_recordset(${told}::jsonb) AS t("sessionId" text, requests bigint, "inFlight" int, "quietMs" float8)),
      known AS (UPDATE app_activity a SET requests = a.requests + t.requests, in_flight = t."inFlight", last_at = greatest(a.last_at, t.at)
        FROM told t WHERE a.session_id = t."sessionId" AND a.gateway = ${gateway} RETURNING a.session_id)
    INSERT INTO app_activity (session_id, gateway, requests, in_flight, last_at)
    SELECT s.id, ${gateway}, t.requests, t."inFlight", t.at FROM told t JOIN sessions s ON s.id = t."sessionId"
    WHERE s.id NOT IN (SELECT session_id FROM known) ON CONFLICT DO NOTHING`);
}

/** The longest window of any policy and a little more, two hours at least: what `berth top` and a new policy look back on. */
const KEPT = sql`interval '15 minutes' + greatest(interval '2 hours', coalesce((SELECT max((k.value->'utilization'->>'windowSeconds')::int)
  FROM resource_groups g, jsonb_each(g.policy->'idle') k), 0) * interval '1 second')`;

/** Hours of use stay, as reservations do. Safe to run at any time, and twice. */
export async function sweepUsage(tx: Runner): Promise<void> {
  await tx.run(sql`DELETE FROM usage_samples WHERE at < now() - (${KEPT})`);
  await tx.run(sql`DELETE FROM activity_gateways WHERE reported_at < now() - ${GONE}`);
  await tx.run(
    sql`DELETE FROM app_activity a USING sessions s WHERE s.id = a.session_id AND s.settled_at < now() - interval '1 day'`,
  );
}
