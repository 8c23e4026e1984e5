import { sql } from '../sql.js';

/** A gateway tells at least each 5 s while something is under way: what is older says nothing. */
export const TRAFFIC_SECONDS_MAX = 15;

/** Of `p`, a row of deployment_places: requests that gateways have under way to it, as they last told. */
export const inFlight = sql`
  (SELECT coalesce(sum(t.in_flight), 0)::int FROM replica_traffic t WHERE t.session_id = p.session_id
    AND t.told_at > now() - ${TRAFFIC_SECONDS_MAX}::int * interval '1 second')`;

/** Of `p`, a row of deployment_places: a gateway's last connection to it was refused. */
export const isRefused = sql`
  EXISTS (SELECT 1 FROM replica_traffic t WHERE t.session_id = p.session_id
    AND t.refused_at > now() - ${TRAFFIC_SECONDS_MAX}::int * interval '1 second')`;

/** Of `p`, a row of deployment_places: it gets requests. */
export const isServing = sql`(p.route = 'ACTIVE' AND p.health IN ('healthy', 'degraded'))`;

/** A gateway is told of a drain within a second: what it says after that holds for good. */
const SEEN_AFTER = sql`interval '1 second'`;
/** A gateway that was not heard of for so long is gone; until then it may have something under way. */
const GATEWAY_GONE = sql`interval '1 minute'`;

/**
 * Of `p`, a row of deployment_places: it drains, and every gateway that was heard of lately has told something since, and had
 * nothing under way to it. Where no gateway is known, nobody sends anything.
 */
export const isDrained = sql`
  (p.draining_at IS NOT NULL AND p.draining_at < now() - ${SEEN_AFTER} AND NOT EXISTS (
    SELECT 1 FROM traffic_gateways g LEFT JOIN replica_traffic t ON t.gateway = g.gateway AND t.session_id = p.session_id
    WHERE g.told_at > now() - ${GATEWAY_GONE} AND (g.told_at < p.draining_at + ${SEEN_AFTER} OR coalesce(t.in_flight, 0) > 0)))`;

/** Of `p`, a row of deployment_places: why it does not serve. */
export const whyNot = sql`
  CASE WHEN p.refusal IS NOT NULL AND p.session_state IS NULL THEN p.refusal->>'detail'
    WHEN p.is_lost THEN 'its node ' || p.node || ' is lost'
    WHEN ${isServing} AND p.health = 'healthy' THEN NULL
    WHEN p.session_message <> '' THEN p.session_message
    WHEN p.session_health = 'unhealthy' THEN 'its health check fails'
    WHEN p.session_health = 'degraded' THEN 'its health check missed'
    WHEN p.session_state = 'RUNNING' AND p.session_health = 'starting' THEN 'its health check has not succeeded yet'
    WHEN p.session_state = 'RUNNING' AND p.port IS NULL THEN 'its port is not known yet'
    WHEN p.cause IS NOT NULL THEN p.cause
    WHEN p.is_submitted THEN p.session_reason
    ELSE 'it is about to be submitted' END`;
