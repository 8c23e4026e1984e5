import { deploymentRules, deploymentViews } from './0014-deployments-rules.js';

/** Deployments and what they ask for: revisions never change, replicas are sessions whose ids are made here first. */
const deploymentTables = `
CREATE TABLE deployments (
  id text PRIMARY KEY,
  name text NOT NULL,
  project_id text NOT NULL REFERENCES projects,
  group_name text NOT NULL REFERENCES resource_groups,
  owner_id text NOT NULL REFERENCES users,
  wanted int NOT NULL CHECK (wanted BETWEEN 0 AND 1000),
  strategy jsonb NOT NULL,
  rollout_timeout_seconds int NOT NULL CHECK (rollout_timeout_seconds > 0),
  autoscale jsonb,
  model_name text,
  access text NOT NULL CHECK (access IN ('token', 'public')),
  applied_revision int NOT NULL DEFAULT 1,
  current_revision int,
  rollout jsonb,
  rollout_started_at timestamptz(3),
  rollout_message text NOT NULL DEFAULT '',
  weights jsonb NOT NULL DEFAULT '[]',
  fired jsonb NOT NULL DEFAULT '{}',
  last_decision jsonb,
  wake_asked_at timestamptz(3),
  retry_at timestamptz(3),
  start_ms bigint,
  told_state text NOT NULL DEFAULT 'DEPLOYING',
  changes bigint NOT NULL DEFAULT 1,
  turned_changes bigint NOT NULL DEFAULT 0,
  changed_at timestamptz(3) NOT NULL DEFAULT now(),
  turned_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  ending_at timestamptz(3),
  ended_at timestamptz(3),
  CHECK (turned_changes <= changes),
  CHECK (ended_at IS NULL OR ending_at IS NOT NULL),
  CHECK ((rollout IS NULL) = (rollout_started_at IS NULL)),
  CHECK (ending_at IS NULL OR rollout IS NULL)
);
CREATE UNIQUE INDEX deployments_name ON deployments (name) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX deployments_model ON deployments (model_name) WHERE ended_at IS NULL;
CREATE INDEX deployments_by_name ON deployments (name, created_at);
CREATE INDEX deployments_created ON deployments (created_at, id);
COMMENT ON COLUMN deployments.wanted IS 'the owner''s count, or what the rules made of it';
COMMENT ON COLUMN deployments.applied_revision IS 'what was last asked for: the same template again asks for nothing new';
COMMENT ON COLUMN deployments.current_revision IS 'the last good one; null: none was yet';
COMMENT ON COLUMN deployments.rollout IS 'as src/deployments/rollout.ts has it';
COMMENT ON COLUMN deployments.fired IS 'by rule: ms of when it last changed the count';
COMMENT ON COLUMN deployments.start_ms IS 'what the last start of a replica took, from created to its first success';
COMMENT ON COLUMN deployments.changes IS 'counts what a turn has to look at; turned_changes is how far the last one had read';

CREATE TABLE deployment_revisions (
  deployment_id text NOT NULL REFERENCES deployments,
  revision int NOT NULL CHECK (revision > 0),
  template jsonb NOT NULL CHECK (NOT template ?| '{environment,registryCredentials}'),
  environment_names jsonb NOT NULL DEFAULT '[]',
  template_hash bytea NOT NULL CHECK (octet_length(template_hash) = 32),
  sealed_secrets bytea,
  failures int NOT NULL DEFAULT 0 CHECK (failures >= 0),
  last_failure_at timestamptz(3),
  good_at timestamptz(3),
  failed_message text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  created_by text NOT NULL,
  PRIMARY KEY (deployment_id, revision)
);
COMMENT ON COLUMN deployment_revisions.failures IS 'replicas that failed in a row, as the last turn counted them';
COMMENT ON COLUMN deployment_revisions.good_at IS 'a rollout to it was done';

CREATE TABLE deployment_replicas (
  session_id text PRIMARY KEY,
  deployment_id text NOT NULL,
  revision int NOT NULL,
  name text NOT NULL,
  sealed_api_key bytea,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  submitting_at timestamptz(3),
  serving_at timestamptz(3),
  draining_at timestamptz(3),
  drain_why text,
  stop_at timestamptz(3),
  closed_at timestamptz(3),
  close_reason text,
  FOREIGN KEY (deployment_id, revision) REFERENCES deployment_revisions,
  CHECK (stop_at IS NULL OR draining_at IS NOT NULL),
  CHECK ((closed_at IS NULL) = (close_reason IS NULL))
);
CREATE INDEX deployment_replicas_open ON deployment_replicas (deployment_id) WHERE closed_at IS NULL;
CREATE INDEX deployment_replicas_closed ON deployment_replicas (deployment_id, closed_at) WHERE closed_at IS NOT NULL;
CREATE INDEX deployment_replicas_draining ON deployment_replicas (session_id) WHERE draining_at IS NOT NULL AND stop_at IS NULL AND closed_at IS NULL;
COMMENT ON COLUMN deployment_replicas.session_id IS 'made here before anything is submitted, so that a second try submits the same session';
COMMENT ON COLUMN deployment_replicas.submitting_at IS 'handed out to be submitted: its session may come to be a moment later';
COMMENT ON COLUMN deployment_replicas.serving_at IS 'its first success';
COMMENT ON COLUMN deployment_replicas.draining_at IS 'off the route since then, by the commit that wrote it';
COMMENT ON COLUMN deployment_replicas.stop_at IS 'drained: its session is to be stopped';

CREATE TABLE deployment_events (
  id bigserial PRIMARY KEY,
  deployment_id text NOT NULL REFERENCES deployments,
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  first_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  count int NOT NULL DEFAULT 1,
  kind text NOT NULL,
  message text NOT NULL DEFAULT '',
  data jsonb NOT NULL DEFAULT '{}',
  actor text NOT NULL
);
CREATE INDEX deployment_events_deployment ON deployment_events (deployment_id, id);

CREATE TABLE deployment_decisions (
  id bigserial PRIMARY KEY,
  deployment_id text NOT NULL REFERENCES deployments,
  at timestamptz(3) NOT NULL DEFAULT now(),
  decision jsonb NOT NULL
);
CREATE INDEX deployment_decisions_deployment ON deployment_decisions (deployment_id, id);

CREATE TABLE deployment_tokens (
  id text PRIMARY KEY,
  deployment_id text NOT NULL REFERENCES deployments,
  name text NOT NULL,
  hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3),
  revoked_at timestamptz(3)
);
CREATE INDEX deployment_tokens_deployment ON deployment_tokens (deployment_id) WHERE revoked_at IS NULL;
COMMENT ON COLUMN deployment_tokens.hash IS 'SHA-256 of 256 random bits';
`;

/** What agents and gateways tell: replaced by what they tell next, and old after some seconds. */
const told = `
CREATE TABLE replica_metrics (
  session_id text PRIMARY KEY,
  attempt int NOT NULL,
  series jsonb NOT NULL,
  told_at timestamptz(3) NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE TABLE traffic_gateways (
  gateway text PRIMARY KEY,
  told_at timestamptz(3) NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
COMMENT ON TABLE traffic_gateways IS 'each process that sends requests to replicas, and when it last told anything';
CREATE TABLE deployment_traffic (
  deployment_id text NOT NULL REFERENCES deployments,
  gateway text NOT NULL,
  told_at timestamptz(3) NOT NULL DEFAULT now(),
  requests bigint NOT NULL DEFAULT 0,
  failures bigint NOT NULL DEFAULT 0,
  per_second float8 NOT NULL DEFAULT 0,
  queued int NOT NULL DEFAULT 0,
  queued_at timestamptz(3) NOT NULL DEFAULT now(),
  last_request_at timestamptz(3),
  PRIMARY KEY (deployment_id, gateway)
) WITH (fillfactor = 70);
COMMENT ON COLUMN deployment_traffic.per_second IS 'smoothed over some 10 s, as of told_at';
COMMENT ON COLUMN deployment_traffic.queued IS 'the most of the last 5 s';
CREATE TABLE replica_traffic (
  session_id text NOT NULL REFERENCES deployment_replicas ON DELETE CASCADE,
  gateway text NOT NULL,
  in_flight int NOT NULL CHECK (in_flight >= 0),
  told_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (session_id, gateway)
) WITH (fillfactor = 70);
`;

/** Deployments, their revisions, replicas and tokens, what happened to them, and what is told of their traffic. */
export const deployments = `${deploymentTables}${told}${deploymentViews}${deploymentRules}`;
