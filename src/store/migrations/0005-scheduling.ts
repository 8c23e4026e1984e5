export const scheduling = `
ALTER TABLE devices
  ADD COLUMN sharing text NOT NULL DEFAULT 'none' CHECK (sharing IN ('mig', 'mps', 'memory-limit', 'none')),
  ADD COLUMN parent_id text,
  ADD COLUMN unhealthy_reason text;

ALTER TABLE nodes DROP CONSTRAINT nodes_state_check,
  ADD CONSTRAINT nodes_state_check CHECK (state IN ('REGISTERED', 'READY', 'CORDONED', 'DRAINING', 'DRAINED', 'UNHEALTHY', 'LOST')),
  ADD COLUMN drain_since timestamptz(3),
  ADD COLUMN drain_deadline timestamptz(3),
  ADD COLUMN drain_reason text,
  ADD COLUMN drain_actor text,
  ADD COLUMN drained_at timestamptz(3),
  ADD COLUMN unhealthy_since timestamptz(3),
  ADD COLUMN unhealthy_reason text,
  ADD COLUMN unhealthy_by text CHECK (unhealthy_by IN ('hand', 'check')),
  ADD COLUMN images jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN failed_starts jsonb NOT NULL DEFAULT '[]';
COMMENT ON COLUMN nodes.drain_since IS 'its work has to leave since then; with unhealthy_reason and cordoned it outlives LOST. The state is the last that holds of REGISTERED, READY, CORDONED, DRAINING, DRAINED, UNHEALTHY, LOST';
COMMENT ON COLUMN nodes.drained_at IS 'a pass found it draining and empty';
COMMENT ON COLUMN nodes.failed_starts IS 'ids of the different sessions whose start failed here by the platform, in a row; a start that works empties it';

CREATE TABLE node_moves (
  id bigserial PRIMARY KEY,
  node text NOT NULL REFERENCES nodes,
  to_group text NOT NULL REFERENCES resource_groups,
  at timestamptz(3) NOT NULL,
  repeat text NOT NULL DEFAULT 'none' CHECK (repeat IN ('none', 'daily', 'weekly')),
  deadline_seconds int,
  actor text NOT NULL DEFAULT '',
  started_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX node_moves_node ON node_moves (node, at);
COMMENT ON TABLE node_moves IS 'the next move of a node is the earliest of its rows. One that repeats is moved on by a day or a week when it is done, any other is deleted';
COMMENT ON COLUMN node_moves.started_at IS 'its drain began; the drain ends with the move';

CREATE FUNCTION moment(text) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT RETURN $1::timestamptz;
COMMENT ON FUNCTION moment IS 'of a text that names its zone, so it depends on no setting';
ALTER TABLE sessions DROP CONSTRAINT sessions_state_check,
  ADD CONSTRAINT sessions_state_check CHECK (state IN
    ('PENDING', 'SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING', 'PREEMPTING', 'TERMINATING', 'TERMINATED', 'CANCELLED', 'ERROR')),
  ADD COLUMN base_priority int NOT NULL GENERATED ALWAYS AS (coalesce((spec->>'priority')::int, 10)) STORED,
  ADD COLUMN min_runtime_ms bigint NOT NULL GENERATED ALWAYS AS (coalesce((spec->>'minRuntimeSeconds')::float8 * 1000, 0)::bigint) STORED,
  ADD COLUMN max_runtime_ms bigint GENERATED ALWAYS AS (((spec->>'maxRuntimeSeconds')::float8 * 1000)::bigint) STORED,
  ADD COLUMN grace_ms bigint NOT NULL GENERATED ALWAYS AS (coalesce((spec->>'gracePeriodSeconds')::float8 * 1000, 10000)::bigint) STORED,
  ADD COLUMN preemptible boolean NOT NULL GENERATED ALWAYS AS
    (coalesce((spec->>'preemptible')::boolean, kind NOT IN ('inference', 'system'))) STORED,
  ADD COLUMN resumable boolean NOT NULL GENERATED ALWAYS AS (coalesce((spec->>'resumable')::boolean, false)) STORED,
  ADD COLUMN wishes jsonb NOT NULL GENERATED ALWAYS AS (coalesce(spec->'placement', '{}')) STORED,
  ADD COLUMN starts_at timestamptz(3) GENERATED ALWAYS AS (moment(spec->>'startsAt')) STORED,
  ADD COLUMN image text NOT NULL GENERATED ALWAYS AS (coalesce(spec->>'image', '')) STORED,
  ADD COLUMN has_upstream boolean NOT NULL GENERATED ALWAYS AS (coalesce(jsonb_array_length(spec->'dependsOn'), 0) > 0) STORED,
  ADD COLUMN has_replicas boolean NOT NULL GENERATED ALWAYS AS (coalesce(spec->'placement'->>'spread', 'none') <> 'none') STORED,
  ADD COLUMN has_mounts boolean NOT NULL GENERATED ALWAYS AS (coalesce(jsonb_array_length(spec->'mounts'), 0) > 0) STORED,
  ADD COLUMN decay_tries int NOT NULL DEFAULT 0,
  ADD COLUMN decay_counted_at timestamptz(3),
  ADD COLUMN blocked_since timestamptz(3),
  ADD COLUMN retry_at timestamptz(3),
  ADD COLUMN avoid_nodes jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN expected_start timestamptz(3),
  ADD COLUMN expected_basis text,
  ADD COLUMN reserved_nodes jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN nearest jsonb,
  ADD COLUMN preempt_cause text CHECK (preempt_cause IN ('preempted', 'drained')),
  ADD COLUMN preempt_for text,
  ADD COLUMN preempt_then text CHECK (preempt_then IN ('requeue', 'end')),
  ADD COLUMN preempt_grace_ms bigint,
  ADD COLUMN preempt_breaks_min boolean NOT NULL DEFAULT false,
  ADD COLUMN preempt_asked_at timestamptz(3),
  ADD COLUMN preempt_seen_at timestamptz(3),
  ADD COLUMN gone_by timestamptz(3);
COMMENT ON COLUMN sessions.base_priority IS 'as submitted; priority is what waiting at the head has left of it, and gets this back when it is placed';
COMMENT ON COLUMN sessions.max_runtime_ms IS 'of the spec, where the admission puts the limit of its group: one source, so that no column drifts from it';
COMMENT ON COLUMN sessions.avoid_nodes IS 'names of nodes where attempts failed by the platform';
COMMENT ON COLUMN sessions.preempt_seen_at IS 'its workflow took the notice; until then the row is an unacknowledged preempt';
COMMENT ON COLUMN sessions.gone_by IS 'it ends already: by then at the latest';
CREATE INDEX sessions_waiting_upstream ON sessions (group_name) WHERE state = 'PENDING' AND has_upstream;
CREATE INDEX sessions_waiting_replicas ON sessions (group_name) WHERE state = 'PENDING' AND has_replicas;
CREATE INDEX sessions_waiting_mounts ON sessions (group_name) WHERE state = 'PENDING' AND has_mounts;
COMMENT ON COLUMN sessions.has_upstream IS 'with has_replicas and has_mounts: a pass asks whether anybody who waits needs what it costs to read';
DROP INDEX sessions_signal;
CREATE INDEX sessions_signal ON sessions (signalled_at) WHERE settled_at IS NULL AND
  (state IN ('SCHEDULED', 'PREEMPTING', 'TERMINATING', 'CANCELLED', 'ERROR') OR stop_requested_at IS NOT NULL OR health_sends BETWEEN 1 AND 3);
CREATE INDEX sessions_holding ON sessions (group_name) WHERE state IN ('SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING', 'PREEMPTING', 'TERMINATING');

CREATE TABLE session_dependencies (
  session_id text NOT NULL REFERENCES sessions,
  upstream_id text NOT NULL REFERENCES sessions,
  on_failure text NOT NULL CHECK (on_failure IN ('cancel', 'fail', 'ignore')),
  PRIMARY KEY (session_id, upstream_id),
  CHECK (session_id <> upstream_id)
);
CREATE INDEX session_dependencies_upstream ON session_dependencies (upstream_id);

ALTER TABLE reservations ADD COLUMN charged boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN reservations.charged IS 'false where the platform failed the attempt, or stopped it within its minimum runtime';

CREATE TABLE room_holds (
  session_id text PRIMARY KEY REFERENCES sessions,
  group_name text NOT NULL REFERENCES resource_groups,
  victims jsonb NOT NULL,
  kernels jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX room_holds_group ON room_holds (group_name);
COMMENT ON TABLE room_holds IS 'room that is kept for a waiting session while its victims leave. It is not booked, since they hold it still: passes honour it, and a plan that writes one raises the generation';

ALTER TABLE device_holds ADD COLUMN memory_bytes bigint CHECK (memory_bytes > 0), ADD COLUMN folded boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN device_holds.memory_bytes IS 'promised of the device; null: it is held whole';
COMMENT ON COLUMN device_holds.folded IS 'taken off device_use by the pass that folded its reservation';
UPDATE device_holds h SET folded = r.folded FROM reservations r WHERE r.id = h.reservation_id AND r.folded;
CREATE TABLE device_use (
  node text NOT NULL,
  device_id text NOT NULL,
  whole int NOT NULL DEFAULT 0,
  shares int NOT NULL DEFAULT 0,
  shared_bytes bigint NOT NULL DEFAULT 0,
  memory_bytes bigint NOT NULL,
  PRIMARY KEY (node, device_id),
  FOREIGN KEY (node, device_id) REFERENCES devices (node, id) ON DELETE CASCADE,
  CONSTRAINT held_whole_once CHECK (whole BETWEEN 0 AND 1),
  CONSTRAINT whole_or_shared CHECK (whole = 0 OR shares = 0),
  CONSTRAINT shares_within_memory CHECK (shares >= 0 AND shared_bytes BETWEEN 0 AND memory_bytes)
) WITH (fillfactor = 50);
COMMENT ON TABLE device_use IS 'what is promised of each device. A trigger on device_holds adds to it, so whoever books a device, a pass or not, meets its CHECKs; passes fold what was released';
INSERT INTO device_use (node, device_id, whole, memory_bytes)
  SELECT h.node, h.device_id, 1, d.memory_bytes FROM device_holds h JOIN devices d ON d.node = h.node AND d.id = h.device_id
  WHERE NOT h.folded GROUP BY h.node, h.device_id, d.memory_bytes;
CREATE FUNCTION add_device_use() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
    INSERT INTO device_use AS u (node, device_id, whole, shares, shared_bytes, memory_bytes)
    SELECT f.node, f.device_id, f.whole, f.shares, f.shared, d.memory_bytes
    FROM (SELECT node, device_id, count(*) FILTER (WHERE memory_bytes IS NULL) AS whole, count(memory_bytes) AS shares,
            coalesce(sum(memory_bytes), 0) AS shared FROM fresh GROUP BY node, device_id) f
    JOIN devices d ON d.node = f.node AND d.id = f.device_id ORDER BY f.node, f.device_id
    ON CONFLICT (node, device_id) DO UPDATE SET whole = u.whole + excluded.whole, shares = u.shares + excluded.shares,
      shared_bytes = u.shared_bytes + excluded.shared_bytes, memory_bytes = excluded.memory_bytes;
    RETURN NULL;
  END';
CREATE TRIGGER device_holds_booked AFTER INSERT ON device_holds REFERENCING NEW TABLE AS fresh
  FOR EACH STATEMENT EXECUTE FUNCTION add_device_use();
DROP INDEX device_holds_one;
CREATE UNIQUE INDEX device_holds_one ON device_holds (node, device_id) WHERE NOT folded AND memory_bytes IS NULL;
CREATE INDEX device_holds_reservation ON device_holds (reservation_id) WHERE NOT folded;
COMMENT ON INDEX device_holds_one IS 'a whole device belongs to one kernel: the database refuses the second';
`;
