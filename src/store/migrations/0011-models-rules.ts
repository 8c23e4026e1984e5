/** What the rows themselves see to, whoever writes them. */
export const modelRules = `
CREATE FUNCTION record_allowed() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
    NEW.allowed_bytes := CASE WHEN NEW.limit_bytes <= NEW.planned_bytes OR TG_OP = ''INSERT'' THEN NEW.planned_bytes
      WHEN NEW.planned_bytes IS NOT NULL THEN greatest(NEW.planned_bytes, OLD.allowed_bytes) END;
    RETURN NEW;
  END';
CREATE TRIGGER model_instances_allowed BEFORE INSERT OR UPDATE OF limit_bytes, planned_bytes ON model_instances
  FOR EACH ROW EXECUTE FUNCTION record_allowed();

CREATE FUNCTION refuse_foreign_gpu() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
    PERFORM 1 FROM model_instances i JOIN device_holds h ON h.session_id = i.session_id AND h.attempt = i.attempt
      WHERE i.id = NEW.instance_id AND i.node = NEW.node AND h.node = NEW.node AND h.device_id = NEW.device_id AND h.released_at IS NULL;
    IF NOT FOUND THEN
      RAISE EXCEPTION ''the member of % does not hold % of %'', NEW.instance_id, NEW.device_id, NEW.node USING ERRCODE = ''check_violation'';
    END IF;
    RETURN NEW;
  END';
CREATE TRIGGER instance_gpus_held BEFORE INSERT OR UPDATE ON instance_gpus FOR EACH ROW EXECUTE FUNCTION refuse_foreign_gpu();

CREATE FUNCTION gpus_are_settled(wanted text) RETURNS boolean LANGUAGE sql STABLE AS
  'SELECT NOT EXISTS (SELECT 1 FROM instance_gpus mine
    JOIN instance_gpus theirs ON theirs.node = mine.node AND theirs.device_id = mine.device_id AND theirs.instance_id <> mine.instance_id
    JOIN model_instances i ON i.id = theirs.instance_id
    WHERE mine.instance_id = wanted AND i.closed_at IS NULL AND i.planned_bytes IS NOT NULL
      AND NOT (i.limit_bytes IS NULL AND i.order_kind = ''start'' AND i.order_due_at IS NULL)
      AND (i.limit_bytes IS NULL OR i.limit_bytes > i.planned_bytes OR i.kv_used_bytes > i.planned_bytes))';
COMMENT ON FUNCTION gpus_are_settled IS 'nobody beside it on its GPUs has more than the plan: only then its own limit rises, it starts or wakes';

CREATE FUNCTION tell_models() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN PERFORM pg_notify(''berth_models'', CASE TG_TABLE_NAME WHEN ''model_claims'' THEN to_jsonb(NEW)->>''id'' ELSE to_jsonb(NEW)->>''claim_id'' END); RETURN NULL; END';
CREATE TRIGGER model_claims_made AFTER INSERT ON model_claims FOR EACH ROW EXECUTE FUNCTION tell_models();
CREATE TRIGGER model_claims_told AFTER UPDATE ON model_claims FOR EACH ROW
  WHEN ((OLD.phase, OLD.reason, OLD.failed_for_good, OLD.ending_at, OLD.ended_at, OLD.start_ms, OLD.wake_ms)
    IS DISTINCT FROM (NEW.phase, NEW.reason, NEW.failed_for_good, NEW.ending_at, NEW.ended_at, NEW.start_ms, NEW.wake_ms))
  EXECUTE FUNCTION tell_models();
CREATE TRIGGER model_instances_told AFTER UPDATE ON model_instances FOR EACH ROW
  WHEN ((OLD.routable, OLD.phase, OLD.host, OLD.port, OLD.closed_at) IS DISTINCT FROM (NEW.routable, NEW.phase, NEW.host, NEW.port, NEW.closed_at))
  EXECUTE FUNCTION tell_models();

CREATE FUNCTION tell_keys() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN PERFORM pg_notify(''berth_keys'', coalesce(to_jsonb(NEW)->>TG_ARGV[0], '''')); RETURN NULL; END';
CREATE TRIGGER api_keys_told AFTER UPDATE OF revoked_at ON api_keys FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION tell_keys('id');
CREATE TRIGGER model_key_limits_told AFTER INSERT OR UPDATE ON model_key_limits FOR EACH ROW EXECUTE FUNCTION tell_keys('key_id');
CREATE TRIGGER memberships_told AFTER INSERT OR DELETE ON memberships FOR EACH STATEMENT EXECUTE FUNCTION tell_keys('');
COMMENT ON FUNCTION tell_keys IS 'an empty payload: whose projects changed is not said, all keys may have';
`;

/** How the rest reads them. An engine lives with the attempt of its member's session that runs now, and no longer. */
export const modelViews = `
CREATE FUNCTION project_path(wanted text) RETURNS text LANGUAGE sql STABLE AS
  'SELECT d.name || ''/'' || p.name FROM projects p JOIN domains d ON d.id = p.domain_id WHERE p.id = wanted';

CREATE VIEW model_members AS
  SELECT m.*, s.state AS session_state, s.attempt, s.ended_at AS session_ended_at, s.reason AS session_reason, s.message AS session_message,
    b.refusal, b.session_id IS NOT NULL AS is_submitted, k.id AS kernel_id, k.cpu_milli, k.memory_bytes, r.node,
    CASE WHEN s.id IS NULL OR s.state IN ('PENDING', 'CANCELLED', 'ERROR', 'TERMINATED') THEN 'WAITING'
      WHEN s.state IN ('TERMINATING', 'PREEMPTING') OR s.stop_requested_at IS NOT NULL THEN 'LEAVING'
      WHEN s.state <> 'RUNNING' THEN 'STARTING'
      WHEN m.draining OR p.draining OR p.removed_at IS NOT NULL OR n.state IN ('DRAINING', 'DRAINED', 'UNHEALTHY') THEN 'DRAINING'
      ELSE 'READY' END AS state
  FROM pool_members m JOIN pools p ON p.name = m.pool LEFT JOIN submissions b ON b.session_id = m.session_id
  LEFT JOIN sessions s ON s.id = m.session_id LEFT JOIN kernels k ON k.session_id = s.id AND k.role = 'main'
  LEFT JOIN reservations r ON r.kernel_id = k.id AND r.attempt = s.attempt AND r.released_at IS NULL LEFT JOIN nodes n ON n.name = r.node
  WHERE m.closed_at IS NULL;

CREATE VIEW model_engines AS
  SELECT i.*, (SELECT array_agg(g.name ORDER BY g.name) FROM instance_gpus g WHERE g.instance_id = i.id) AS gpus
  FROM model_instances i JOIN pool_members m ON m.session_id = i.session_id AND m.closed_at IS NULL
  JOIN sessions s ON s.id = i.session_id AND s.attempt = i.attempt AND s.state = 'RUNNING'
  WHERE i.closed_at IS NULL;
COMMENT ON VIEW model_engines IS 'those that live; a row whose member no longer runs is closed by the next turn';

CREATE VIEW member_gpus AS
  SELECT m.pool, m.session_id, h.node, d.id AS device_id, h.node || '/' || d.device_index AS name, d.device_index, d.model, g.usable_bytes
  FROM model_members m JOIN device_holds h ON h.session_id = m.session_id AND h.attempt = m.attempt AND h.released_at IS NULL
  JOIN devices d ON d.node = h.node AND d.id = h.device_id LEFT JOIN pool_gpus g ON g.session_id = m.session_id AND g.node = d.node AND g.device_id = d.id
  WHERE m.session_state = 'RUNNING';
`;
