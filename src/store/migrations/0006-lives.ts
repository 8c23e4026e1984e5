export const lives = `
ALTER TABLE sessions ADD COLUMN failed_attempts int NOT NULL DEFAULT 0, ADD COLUMN failed_node text;
COMMENT ON COLUMN sessions.failed_attempts IS 'attempts that the platform failed: these use up the retries, preemptions and drains do not';
COMMENT ON COLUMN sessions.failed_node IS 'of the present attempt, the node that failed, where one is known';

ALTER TABLE nodes
  ADD COLUMN reconciled boolean NOT NULL DEFAULT false,
  ADD COLUMN cordon_reason text,
  ADD COLUMN lost_reason text,
  ADD COLUMN drain_move bigint REFERENCES node_moves ON DELETE SET NULL;
COMMENT ON COLUMN nodes.reconciled IS 'its agent has compared its containers with the ledger once: before that it takes nothing';
COMMENT ON COLUMN nodes.drain_move IS 'the move that began the drain and ends it; null: somebody did, and ends it';
UPDATE nodes SET reconciled = state <> 'REGISTERED',
  cordon_reason = CASE WHEN cordoned THEN state_reason END, lost_reason = CASE WHEN state = 'LOST' THEN state_reason END;

CREATE FUNCTION node_state(n nodes) RETURNS text LANGUAGE sql STABLE RETURN CASE
  WHEN n.lost_at IS NOT NULL THEN 'LOST'
  WHEN n.unhealthy_reason IS NOT NULL THEN 'UNHEALTHY'
  WHEN n.drain_since IS NOT NULL THEN CASE WHEN n.drained_at IS NULL THEN 'DRAINING' ELSE 'DRAINED' END
  WHEN n.cordoned THEN 'CORDONED'
  WHEN n.reconciled THEN 'READY'
  ELSE 'REGISTERED' END;
CREATE FUNCTION node_state_reason(n nodes) RETURNS text LANGUAGE sql STABLE RETURN CASE node_state(n)
  WHEN 'LOST' THEN n.lost_reason
  WHEN 'UNHEALTHY' THEN n.unhealthy_reason
  WHEN 'DRAINING' THEN n.drain_reason
  WHEN 'DRAINED' THEN n.drain_reason
  WHEN 'CORDONED' THEN n.cordon_reason
  WHEN 'READY' THEN (SELECT 'more is promised than it has now' FROM node_use u WHERE u.node = n.name
    AND (u.cpu_milli_used > n.cpu_milli OR u.memory_bytes_used > n.memory_bytes)) END;
CREATE FUNCTION show_node_state() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN NEW.state := node_state(NEW); NEW.state_reason := node_state_reason(NEW); RETURN NEW; END';
CREATE TRIGGER nodes_state BEFORE INSERT OR UPDATE OF state, state_reason, reconciled, cordoned, cordon_reason, drain_since, drain_reason,
  drained_at, unhealthy_reason, lost_at, lost_reason, cpu_milli, memory_bytes ON nodes FOR EACH ROW EXECUTE FUNCTION show_node_state();
COMMENT ON COLUMN nodes.state IS 'written by a trigger from what holds of the node: nobody else writes it';

UPDATE sessions SET spec = '{"dependsOn": [], "resumable": false, "notice": {"signal": "SIGTERM"},
  "retry": {"maxAttempts": 3, "backoffSeconds": 5, "maxBackoffSeconds": 300},
  "placement": {"nodes": [], "nodesRequired": false, "zoneRequired": false, "spread": "none"}}'::jsonb || spec;
UPDATE submissions SET spec = '{"dependsOn": [], "resumable": false, "notice": {"signal": "SIGTERM"},
  "retry": {"maxAttempts": 3, "backoffSeconds": 5, "maxBackoffSeconds": 300},
  "placement": {"nodes": [], "nodesRequired": false, "zoneRequired": false, "spread": "none"}}'::jsonb || spec;
UPDATE resource_groups SET policy = '{"backfill": "none", "decay": {"by": "attempts", "after": 5, "afterSeconds": 600, "step": 10},
  "preemption": {"enabled": false, "mode": "requeue", "scope": "user", "order": "newest"}, "guarantees": [],
  "maxWaitSeconds": null, "maxPendingSessions": null, "maxRuntimeSeconds": {}, "allowUnenforcedSharing": false,
  "blackHoleFailures": 3, "paused": false, "lostAfterSeconds": 300}'::jsonb || policy;
`;
