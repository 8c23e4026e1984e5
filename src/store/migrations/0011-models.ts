import { modelRules, modelViews } from './0011-models-rules.js';

/** Pools and who is in them: each member is a session of kind `system`, so its GPUs are the one ledger's. */
const pools = `
CREATE TABLE pools (
  name text PRIMARY KEY,
  project_id text NOT NULL REFERENCES projects,
  group_name text NOT NULL REFERENCES resource_groups,
  owner_id text NOT NULL REFERENCES users,
  engine text NOT NULL,
  member jsonb NOT NULL,
  sealed_environment bytea,
  members_wanted int NOT NULL CHECK (members_wanted BETWEEN 0 AND 1000),
  policy jsonb NOT NULL,
  draining boolean NOT NULL DEFAULT false,
  changes bigint NOT NULL DEFAULT 1,
  planned_changes bigint NOT NULL DEFAULT 0,
  changed_at timestamptz(3) NOT NULL DEFAULT now(),
  turned_at timestamptz(3),
  wake_failures bigint NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  removed_at timestamptz(3),
  CHECK (planned_changes <= changes)
);
COMMENT ON TABLE pools IS 'a removed one stays: its name may come again once its members have ended';
COMMENT ON COLUMN pools.changes IS 'counts what a planner has to look at; planned_changes is how far the last turn had read, so nothing that comes during a turn is lost';

CREATE TABLE pool_projects (
  pool text NOT NULL REFERENCES pools,
  project_id text NOT NULL REFERENCES projects,
  PRIMARY KEY (pool, project_id)
);
COMMENT ON TABLE pool_projects IS 'that may claim from the pool, beside its own';

CREATE TABLE pool_members (
  session_id text PRIMARY KEY,
  pool text NOT NULL REFERENCES pools,
  ordinal int NOT NULL CHECK (ordinal >= 0),
  draining boolean NOT NULL DEFAULT false,
  ready_at timestamptz(3),
  looked_at timestamptz(3),
  unreachable_at timestamptz(3),
  unknown_engines text[] NOT NULL DEFAULT '{}',
  cached text[] NOT NULL DEFAULT '{}',
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  closed_at timestamptz(3),
  close_reason text
);
CREATE UNIQUE INDEX pool_members_ordinal ON pool_members (pool, ordinal) WHERE closed_at IS NULL;
COMMENT ON COLUMN pool_members.session_id IS 'made here before anything is submitted, so that a second try submits the same session';
COMMENT ON COLUMN pool_members.unreachable_at IS 'its node gave no answer about limits; cleared by its next look';

CREATE TABLE pool_gpus (
  session_id text NOT NULL REFERENCES pool_members,
  node text NOT NULL,
  device_id text NOT NULL,
  usable_bytes bigint CHECK (usable_bytes > 0),
  measured_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (session_id, node, device_id)
);
COMMENT ON COLUMN pool_gpus.usable_bytes IS 'what the driver reports without its own reserve; null: could not be measured';
`;

const claims = `
CREATE TABLE model_claims (
  id text PRIMARY KEY,
  model_name text NOT NULL,
  pool text NOT NULL REFERENCES pools,
  project_id text NOT NULL REFERENCES projects,
  owner_id text NOT NULL REFERENCES users,
  artifact_url text NOT NULL,
  artifact_sha256 text,
  engine text NOT NULL,
  args jsonb NOT NULL DEFAULT '[]',
  tensor int NOT NULL CHECK (tensor >= 1),
  pipeline int NOT NULL CHECK (pipeline >= 1),
  replicas int NOT NULL CHECK (replicas >= 1),
  pinned boolean NOT NULL,
  hold jsonb,
  footprint_bytes bigint NOT NULL CHECK (footprint_bytes > 0),
  kv_floor_bytes bigint NOT NULL CHECK (kv_floor_bytes > 0),
  kv_min_bytes bigint CHECK (kv_min_bytes > 0),
  kv_max_bytes bigint,
  priority int NOT NULL CHECK (priority >= 0),
  sleep jsonb NOT NULL,
  phase text NOT NULL DEFAULT 'PENDING'
    CHECK (phase IN ('PENDING', 'STARTING', 'ACTIVE', 'SLEEPING', 'WAKING', 'MOVING', 'FAILED', 'STOPPING')),
  phase_since timestamptz(3) NOT NULL DEFAULT now(),
  reason text,
  reason_message text NOT NULL DEFAULT '',
  reason_data jsonb NOT NULL DEFAULT '{}',
  wake_asked_at timestamptz(3),
  last_request_at timestamptz(3),
  sleep_asked boolean NOT NULL DEFAULT false,
  avoid jsonb NOT NULL DEFAULT '[]',
  failed_for_good text,
  start_ms bigint,
  wake_ms bigint,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  ending_at timestamptz(3),
  ended_at timestamptz(3),
  CONSTRAINT kv_max_holds_the_floor CHECK (kv_max_bytes >= greatest(kv_floor_bytes, kv_min_bytes)),
  CHECK (ended_at IS NULL OR ending_at IS NOT NULL)
);
CREATE UNIQUE INDEX model_claims_name ON model_claims (model_name) WHERE ended_at IS NULL;
CREATE INDEX model_claims_pool ON model_claims (pool) WHERE ended_at IS NULL;
CREATE INDEX model_claims_created ON model_claims (created_at, id);
COMMENT ON COLUMN model_claims.wake_asked_at IS 'the first request since it slept: its whole reserve is charged from then on';
COMMENT ON COLUMN model_claims.avoid IS 'GPUs where it failed, and until when it is not placed there';

CREATE TABLE model_instances (
  id text PRIMARY KEY,
  claim_id text NOT NULL REFERENCES model_claims,
  replica int NOT NULL CHECK (replica >= 0),
  pool text NOT NULL REFERENCES pools,
  session_id text NOT NULL REFERENCES pool_members,
  attempt int NOT NULL,
  node text NOT NULL REFERENCES nodes,
  ipc_name text NOT NULL UNIQUE,
  sealed_api_key bytea NOT NULL,
  moves_from text REFERENCES model_instances,
  phase text NOT NULL CHECK (phase IN ('STARTING', 'ACTIVE', 'SLEEPING', 'WAKING', 'STOPPING', 'FAILED')),
  phase_since timestamptz(3) NOT NULL DEFAULT now(),
  awake_since timestamptz(3) NOT NULL DEFAULT now(),
  order_kind text CHECK (order_kind IN ('start', 'sleep', 'wake', 'stop')),
  order_seq int NOT NULL DEFAULT 0,
  order_at timestamptz(3),
  order_due_at timestamptz(3),
  order_read_at timestamptz(3),
  limit_bytes bigint CHECK (limit_bytes >= 0),
  limit_at timestamptz(3),
  planned_bytes bigint CHECK (planned_bytes >= 0),
  allowed_bytes bigint,
  kv_used_bytes bigint NOT NULL DEFAULT 0 CHECK (kv_used_bytes >= 0),
  residue_bytes bigint CHECK (residue_bytes >= 0),
  last_residue_bytes bigint,
  host_bytes bigint,
  running int,
  waiting int,
  completed float8,
  idle_since timestamptz(3),
  short_before boolean NOT NULL DEFAULT false,
  no_sleep_before timestamptz(3),
  host text,
  port int,
  restarts int NOT NULL DEFAULT 0,
  message text,
  looked_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  closed_at timestamptz(3),
  close_reason text,
  routable boolean NOT NULL GENERATED ALWAYS AS (
    phase = 'ACTIVE' AND order_kind IS NULL AND closed_at IS NULL AND port IS NOT NULL
    AND coalesce(limit_bytes <= allowed_bytes, false)) STORED,
  CHECK (closed_at IS NULL OR order_kind IS NULL),
  CHECK (residue_bytes IS NULL OR phase IN ('SLEEPING', 'STOPPING', 'FAILED')),
  CHECK (moves_from <> id)
);
CREATE UNIQUE INDEX model_instances_one ON model_instances (claim_id, replica, (moves_from IS NULL))
  WHERE closed_at IS NULL AND phase NOT IN ('STOPPING', 'FAILED');
CREATE INDEX model_instances_living ON model_instances (pool) WHERE closed_at IS NULL;
CREATE INDEX model_instances_claim ON model_instances (claim_id);
CREATE INDEX model_instances_member ON model_instances (session_id) WHERE closed_at IS NULL;
COMMENT ON TABLE model_instances IS 'one engine of a claim, charged from its first moment until it is known to be gone';
COMMENT ON INDEX model_instances_one IS 'one engine a replica, and one more while that moves; one that only leaves does not count';
COMMENT ON COLUMN model_instances.allowed_bytes IS 'the record that routing compares with: a lower plan counts from when it is in force, until then nobody else has the difference';
COMMENT ON COLUMN model_instances.routable IS 'ready, nothing ordered, and its limit in force is known and not above the record: nobody writes it';
COMMENT ON COLUMN model_instances.limit_at IS 'its limit was read back after a write: a look that was taken before says nothing of it';
COMMENT ON COLUMN model_instances.order_read_at IS 'the workflow of its claim was given the order';
COMMENT ON COLUMN model_instances.order_due_at IS 'a start or wake is due once its limit is in force; null: not yet';

CREATE TABLE instance_gpus (
  instance_id text NOT NULL REFERENCES model_instances,
  node text NOT NULL,
  device_id text NOT NULL,
  name text NOT NULL,
  PRIMARY KEY (instance_id, device_id),
  FOREIGN KEY (node, device_id) REFERENCES devices (node, id)
);
CREATE INDEX instance_gpus_device ON instance_gpus (node, device_id);

CREATE TABLE model_holds (
  claim_id text NOT NULL REFERENCES model_claims,
  replica int NOT NULL,
  pool text NOT NULL REFERENCES pools,
  gpus text[] NOT NULL CHECK (cardinality(gpus) > 0),
  bytes bigint NOT NULL CHECK (bytes > 0),
  until timestamptz(3) NOT NULL,
  because text NOT NULL,
  PRIMARY KEY (claim_id, replica)
);
COMMENT ON TABLE model_holds IS 'room that is kept for a claim that is to come: no neighbour grows into it';

CREATE TABLE model_events (
  id bigserial PRIMARY KEY,
  claim_id text NOT NULL REFERENCES model_claims,
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  kind text NOT NULL,
  instance_id text,
  from_value text,
  to_value text,
  reason text,
  message text NOT NULL DEFAULT '',
  data jsonb NOT NULL DEFAULT '{}',
  actor text NOT NULL
);
CREATE INDEX model_events_claim ON model_events (claim_id, id);

CREATE TABLE model_measured (
  claim_id text PRIMARY KEY REFERENCES model_claims,
  footprint_bytes bigint,
  kv_used_bytes bigint,
  residue_bytes bigint,
  looks bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE model_measured IS 'the most that was seen while it served';
`;

const usage = `
CREATE TABLE model_usage (
  hour timestamptz(3) NOT NULL,
  key_id text NOT NULL REFERENCES api_keys,
  project text NOT NULL,
  model text NOT NULL,
  requests bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  prompt_tokens bigint NOT NULL DEFAULT 0,
  completion_tokens bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (hour, key_id, project, model)
);
COMMENT ON COLUMN model_usage.project IS 'as domain/name: a record outlives what it names';
CREATE TABLE model_usage_batches (
  id text PRIMARY KEY,
  at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX model_usage_batches_age ON model_usage_batches (at);
COMMENT ON TABLE model_usage_batches IS 'what was counted already, for a day: a batch whose answer was lost is sent again';
CREATE TABLE model_key_limits (
  key_id text PRIMARY KEY REFERENCES api_keys,
  models text[],
  requests_per_minute int CHECK (requests_per_minute > 0),
  tokens_per_minute int CHECK (tokens_per_minute > 0),
  changed_at timestamptz(3) NOT NULL DEFAULT now()
);
`;

/** Pools, model claims with their engines, and what was used of them. */
export const models = `${pools}${claims}${usage}${modelRules}${modelViews}`;
