import type { ReplicaMetrics } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { DeploymentTraffic } from '../deployment-store.js';
import { json, type Sql, sql } from '../sql.js';
import { recordDeploymentEvent } from './deployment-events.js';
import { markChanged } from './lock-deployment.js';
import { isDrained } from './sql-words.js';

type Told = readonly DeploymentTraffic[];

/** A gateway process that was silent for so long is forgotten, with what it told. */
const FORGOTTEN = sql`interval '10 minutes'`;

const asRows = (told: Told): Sql => sql`
  jsonb_to_recordset(${json(told)}::jsonb) AS t("deploymentId" text, requests bigint, failures bigint, queued int, seconds float8,
    "lastRequestMs" float8, "inFlight" jsonb)`;

/** That it told anything is what it says of everything that it does not name. A new process forgets those that are gone. */
async function noteGateway(tx: Runner, gateway: string): Promise<void> {
  const known = await tx.run(sql`UPDATE traffic_gateways SET told_at = clock_timestamp() WHERE gateway = ${gateway}`);
  if (known > 0) return;
  await tx.run(sql`INSERT INTO traffic_gateways (gateway) VALUES (${gateway}) ON CONFLICT DO NOTHING`);
  const gone = sql`(SELECT gateway FROM traffic_gateways WHERE told_at < now() - ${FORGOTTEN})`;
  await tx.run(sql`DELETE FROM replica_traffic WHERE gateway IN ${gone}`);
  await tx.run(
    sql`DELETE FROM deployment_traffic WHERE gateway IN ${gone} AND coalesce(last_request_at, told_at) < now() - interval '31 days'`,
  );
  await tx.run(sql`DELETE FROM traffic_gateways WHERE told_at < now() - ${FORGOTTEN}`);
}

/** A rate falls by e in 10 s; a queue is the most of the last 5 s, so that a look each 5 s misses none. */
const noteCounts = (tx: Runner, gateway: string, told: Told): Promise<number> =>
  tx.run(sql`
    INSERT INTO deployment_traffic AS d (deployment_id, gateway, requests, failures, per_second, queued, last_request_at)
    SELECT t."deploymentId", ${gateway}, t.requests, t.failures, t.requests / greatest(1, t.seconds), t.queued,
      least(now(), to_timestamp(t."lastRequestMs" / 1000))
    FROM ${asRows(told)} JOIN deployments o ON o.id = t."deploymentId" AND o.ended_at IS NULL ORDER BY 1
    ON CONFLICT (deployment_id, gateway) DO UPDATE SET told_at = now(), requests = d.requests + excluded.requests,
      failures = d.failures + excluded.failures,
      per_second = d.per_second * exp(-least(600, greatest(0, extract(epoch FROM now() - d.told_at))) / 10)
        + excluded.per_second * (1 - exp(-least(600, greatest(0.1, extract(epoch FROM now() - d.told_at))) / 10)),
      queued = CASE WHEN excluded.queued >= d.queued OR d.queued_at < now() - interval '5 seconds' THEN excluded.queued ELSE d.queued END,
      queued_at = CASE WHEN excluded.queued >= d.queued OR d.queued_at < now() - interval '5 seconds' THEN now() ELSE d.queued_at END,
      last_request_at = greatest(d.last_request_at, excluded.last_request_at)`);

/** Of each deployment that it names, all: what is not listed has nothing under way, and refuses nothing. */
async function noteReplicas(tx: Runner, gateway: string, told: Told): Promise<void> {
  const rows = told.flatMap(({ inFlight, refused }) => [
    ...inFlight.map((one) => ({ ...one, isRefused: false })),
    ...refused.map((sessionId) => ({ sessionId, count: 0, isRefused: true })),
  ]);
  const ids = told.map(({ deploymentId }) => deploymentId);
  await tx.run(sql`
    UPDATE replica_traffic t SET in_flight = 0, refused_at = NULL, told_at = now() FROM deployment_replicas r
    WHERE r.session_id = t.session_id AND t.gateway = ${gateway} AND (t.in_flight > 0 OR t.refused_at IS NOT NULL) AND r.deployment_id = ANY(${ids}::text[])
      AND t.session_id <> ALL(${rows.map(({ sessionId }) => sessionId)}::text[])`);
  await tx.run(sql`
    INSERT INTO replica_traffic (session_id, gateway, in_flight, refused_at)
    SELECT r.session_id, ${gateway}, max(c.count), CASE WHEN bool_or(c."isRefused") THEN now() END
    FROM jsonb_to_recordset(${json(rows)}::jsonb) AS c("sessionId" text, count int, "isRefused" boolean)
    JOIN deployment_replicas r ON r.session_id = c."sessionId" AND r.closed_at IS NULL GROUP BY r.session_id ORDER BY 1
    ON CONFLICT (session_id, gateway) DO UPDATE SET in_flight = excluded.in_flight, refused_at = excluded.refused_at, told_at = now()`);
}

/** Requests to a deployment at zero, whose rules may want one: asked for once, until a turn answers it. */
async function askWakes(tx: Runner, told: Told): Promise<readonly string[]> {
  const queued = told.filter((one) => one.queued > 0).map(({ deploymentId }) => deploymentId);
  if (queued.length === 0) return [];
  const rows = await tx.rows<{ id: string }>(sql`
    SELECT id FROM deployments WHERE id = ANY(${queued}::text[]) AND wanted = 0 AND autoscale IS NOT NULL AND wake_asked_at IS NULL
      AND ending_at IS NULL ORDER BY id FOR NO KEY UPDATE`);
  for (const { id } of rows) {
    await tx.run(sql`UPDATE deployments SET wake_asked_at = clock_timestamp() WHERE id = ${id}`);
    const event = { deploymentId: id, kind: 'woken', message: 'asked for by a request', actor: 'gateway' };
    await recordDeploymentEvent(tx, event);
    await markChanged(tx, id);
  }
  return rows.map(({ id }) => id);
}

const drainedNow = async (tx: Runner): Promise<readonly string[]> =>
  (
    await tx.rows<{ id: string }>(sql`
      SELECT DISTINCT p.deployment_id AS id FROM deployment_replicas p
      WHERE p.draining_at IS NOT NULL AND p.stop_at IS NULL AND p.closed_at IS NULL AND ${isDrained}`)
  ).map(({ id }) => id);

/** Requests only add up, so a report that comes twice counts them twice. Answers the deployments to kick. */
export async function recordTraffic(tx: Runner, gateway: string, told: Told): Promise<readonly string[]> {
  await noteGateway(tx, gateway);
  if (told.length > 0) {
    await noteCounts(tx, gateway, told);
    await noteReplicas(tx, gateway, told);
  }
  const woken = await askWakes(tx, told);
  return [...new Set([...woken, ...(await drainedNow(tx))])].toSorted();
}

/** Of replicas that are placed on the node at that attempt; anything else is none of its business. */
export const recordReplicaMetrics = (tx: Runner, node: string, { replicas }: ReplicaMetrics): Promise<number> =>
  tx.run(sql`
    INSERT INTO replica_metrics (session_id, attempt, series)
    SELECT r.session_id, m.attempt, m.values FROM jsonb_to_recordset(${json(replicas)}::jsonb) AS m("kernelId" text, attempt int, values jsonb)
    JOIN reservations v ON v.kernel_id = m."kernelId" AND v.attempt = m.attempt AND v.node = ${node} AND v.released_at IS NULL
    JOIN deployment_replicas r ON r.session_id = v.session_id AND r.closed_at IS NULL ORDER BY r.session_id
    ON CONFLICT (session_id) DO UPDATE SET attempt = excluded.attempt, series = excluded.series, told_at = now()`);
