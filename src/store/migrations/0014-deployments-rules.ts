/**
 * Where a replica stands follows from its session, its node and its row. Routed: at an address that gateways reach, and its
 * container's port is known.
 */
export const deploymentViews = `
CREATE VIEW deployment_places AS
  SELECT r.*, s.state AS session_state, s.attempt, s.health AS session_health, s.started_at, s.ended_at AS session_ended_at, s.cause,
    s.message AS session_message, s.reason AS session_reason, s.stop_requested_at, b.refusal, b.session_id IS NOT NULL OR s.id IS NOT NULL AS is_submitted,
    k.id AS kernel_id, v.node, n.address AS host, n.lost_at IS NOT NULL AS is_lost, p.host_port AS port,
    CASE WHEN r.closed_at IS NOT NULL OR s.ended_at IS NOT NULL OR (b.refusal IS NOT NULL AND s.id IS NULL) THEN 'ENDED'
      WHEN r.draining_at IS NOT NULL THEN 'DRAINING'
      WHEN s.state IN ('PREEMPTING', 'TERMINATING') THEN CASE WHEN r.serving_at IS NULL THEN 'WARMING' ELSE 'ACTIVE' END
      WHEN s.state IS DISTINCT FROM 'RUNNING' THEN 'PROVISIONING'
      WHEN s.health IN ('none', 'starting') OR p.host_port IS NULL OR n.address IS NULL THEN 'WARMING'
      ELSE 'ACTIVE' END AS route,
    CASE WHEN s.ended_at IS NOT NULL THEN 'unknown'
      WHEN n.lost_at IS NOT NULL OR (s.state = 'RUNNING' AND s.health = 'unhealthy')
        OR (r.draining_at IS NULL AND (s.state IN ('PREEMPTING', 'TERMINATING') OR s.stop_requested_at IS NOT NULL)) THEN 'unhealthy'
      WHEN s.state = 'RUNNING' AND s.health IN ('healthy', 'degraded') THEN s.health
      ELSE 'unknown' END AS health
  FROM deployment_replicas r LEFT JOIN submissions b ON b.session_id = r.session_id
  LEFT JOIN sessions s ON s.id = r.session_id LEFT JOIN kernels k ON k.session_id = s.id AND k.role = 'main'
  LEFT JOIN reservations v ON v.kernel_id = k.id AND v.attempt = s.attempt AND v.released_at IS NULL LEFT JOIN nodes n ON n.name = v.node
  LEFT JOIN kernel_ports p ON p.kernel_id = k.id AND p.attempt = s.attempt AND p.name = 'http';

CREATE FUNCTION deployment_state(d deployments, serving int) RETURNS text LANGUAGE sql STABLE RETURN CASE
  WHEN d.ended_at IS NOT NULL THEN 'ENDED'
  WHEN d.ending_at IS NOT NULL THEN 'ENDING'
  WHEN d.wanted = 0 THEN 'IDLE'
  WHEN serving = 0 AND d.current_revision IS NULL AND NOT EXISTS (SELECT 1 FROM deployment_revisions v
    WHERE v.deployment_id = d.id AND v.revision = d.applied_revision AND v.failures > 0) THEN 'DEPLOYING'
  WHEN serving = 0 THEN 'UNAVAILABLE'
  WHEN d.rollout IS NOT NULL THEN 'DEPLOYING'
  WHEN serving < d.wanted THEN 'DEGRADED'
  ELSE 'READY' END;
COMMENT ON FUNCTION deployment_state IS 'READY only while all that are wanted serve';

CREATE VIEW deployment_counts AS
  SELECT d.id, t.live, t.serving, deployment_state(d, t.serving) AS state
  FROM deployments d CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE p.route NOT IN ('DRAINING', 'ENDED'))::int AS live,
      count(*) FILTER (WHERE p.route = 'ACTIVE' AND p.health IN ('healthy', 'degraded'))::int AS serving
    FROM deployment_places p WHERE p.deployment_id = d.id AND p.closed_at IS NULL) t;
`;

/** Listeners hear of each commit that changes a route, whoever writes it. */
export const deploymentRules = `
CREATE FUNCTION tell_deployment() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN PERFORM pg_notify(''berth_deployments'', to_jsonb(NEW)->>TG_ARGV[0]); RETURN NULL; END';
CREATE TRIGGER deployments_made AFTER INSERT ON deployments FOR EACH ROW EXECUTE FUNCTION tell_deployment('id');
CREATE TRIGGER deployments_told AFTER UPDATE ON deployments FOR EACH ROW
  WHEN ((OLD.wanted, OLD.access, OLD.model_name, OLD.weights, OLD.told_state, OLD.wake_asked_at, OLD.ending_at, OLD.ended_at, OLD.start_ms)
    IS DISTINCT FROM (NEW.wanted, NEW.access, NEW.model_name, NEW.weights, NEW.told_state, NEW.wake_asked_at, NEW.ending_at, NEW.ended_at, NEW.start_ms))
  EXECUTE FUNCTION tell_deployment('id');
CREATE TRIGGER deployment_tokens_told AFTER INSERT OR UPDATE ON deployment_tokens FOR EACH ROW EXECUTE FUNCTION tell_deployment('deployment_id');
CREATE TRIGGER deployment_replicas_told AFTER UPDATE ON deployment_replicas FOR EACH ROW
  WHEN ((OLD.serving_at, OLD.draining_at, OLD.closed_at) IS DISTINCT FROM (NEW.serving_at, NEW.draining_at, NEW.closed_at))
  EXECUTE FUNCTION tell_deployment('deployment_id');

CREATE FUNCTION tell_deployment_of_session() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
    PERFORM pg_notify(''berth_deployments'', deployment_id) FROM deployment_replicas WHERE session_id = NEW.id AND closed_at IS NULL;
    RETURN NULL;
  END';
CREATE TRIGGER sessions_told_deployments AFTER UPDATE ON sessions FOR EACH ROW
  WHEN (NEW.kind = 'inference' AND (OLD.state, OLD.health, OLD.attempt, OLD.stop_requested_at, OLD.ended_at)
    IS DISTINCT FROM (NEW.state, NEW.health, NEW.attempt, NEW.stop_requested_at, NEW.ended_at))
  EXECUTE FUNCTION tell_deployment_of_session();

CREATE FUNCTION tell_deployment_of_port() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
    PERFORM pg_notify(''berth_deployments'', r.deployment_id) FROM kernels k JOIN deployment_replicas r ON r.session_id = k.session_id
      WHERE k.id = NEW.kernel_id AND r.closed_at IS NULL;
    RETURN NULL;
  END';
CREATE TRIGGER kernel_ports_told_deployments AFTER INSERT OR UPDATE ON kernel_ports FOR EACH ROW EXECUTE FUNCTION tell_deployment_of_port();

CREATE FUNCTION tell_deployments_of_node() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
    PERFORM pg_notify(''berth_deployments'', r.deployment_id) FROM reservations v JOIN deployment_replicas r ON r.session_id = v.session_id
      WHERE v.node = NEW.name AND v.released_at IS NULL AND r.closed_at IS NULL;
    RETURN NULL;
  END';
CREATE TRIGGER nodes_told_deployments AFTER UPDATE OF lost_at, address ON nodes FOR EACH ROW
  WHEN ((OLD.lost_at IS NULL, OLD.address) IS DISTINCT FROM (NEW.lost_at IS NULL, NEW.address)) EXECUTE FUNCTION tell_deployments_of_node();
`;
