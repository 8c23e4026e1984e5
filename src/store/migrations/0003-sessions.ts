export const sessions = `
CREATE TABLE submissions (
  session_id text PRIMARY KEY,
  principal jsonb NOT NULL,
  spec jsonb NOT NULL,
  sealed_secrets bytea,
  submitted_at timestamptz(3) NOT NULL,
  refusal jsonb,
  answered_at timestamptz(3),
  stop jsonb
);
CREATE INDEX submissions_open ON submissions (submitted_at) WHERE answered_at IS NULL;
COMMENT ON TABLE submissions IS 'the request, stored before its workflow starts: the history carries the id alone';
COMMENT ON COLUMN submissions.stop IS 'a stop that came before the admission; the row is then made as CANCELLED';

CREATE TABLE sessions (
  id text PRIMARY KEY,
  name text NOT NULL,
  kind text NOT NULL,
  state text NOT NULL CHECK (state IN ('PENDING', 'SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING', 'TERMINATING', 'TERMINATED', 'CANCELLED', 'ERROR')),
  version int NOT NULL DEFAULT 1,
  attempt int NOT NULL DEFAULT 0,
  user_id text NOT NULL REFERENCES users,
  project_id text NOT NULL REFERENCES projects,
  domain_id text NOT NULL REFERENCES domains,
  group_name text NOT NULL REFERENCES resource_groups,
  spec jsonb NOT NULL,
  labels jsonb NOT NULL DEFAULT '{}',
  architecture text,
  gpu_model text,
  cluster_mode text NOT NULL,
  priority int NOT NULL,
  queue_rank int GENERATED ALWAYS AS (-priority) STORED,
  cpu_milli bigint NOT NULL,
  memory_bytes bigint NOT NULL,
  gpu_count int NOT NULL,
  gpu_memory_bytes bigint NOT NULL,
  reason text,
  reason_class text,
  reason_since timestamptz(3),
  message text,
  blockers jsonb NOT NULL DEFAULT '[]',
  violations jsonb NOT NULL DEFAULT '[]',
  node_verdict jsonb,
  health text NOT NULL DEFAULT 'none',
  health_sends int NOT NULL DEFAULT 0,
  stop_requested_at timestamptz(3),
  stop_actor text,
  stop_grace_ms bigint,
  stop_force boolean,
  result text NOT NULL DEFAULT 'none',
  cause text,
  exit_code int,
  submitted_at timestamptz(3) NOT NULL,
  placed_at timestamptz(3),
  started_at timestamptz(3),
  ending_at timestamptz(3),
  ended_at timestamptz(3),
  settled_at timestamptz(3),
  signalled_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  changed_xid xid8 NOT NULL DEFAULT pg_current_xact_id()
) WITH (fillfactor = 80);
COMMENT ON COLUMN sessions.version IS 'raised by what a plan depends on (state, attempt, stop), not by reasons: the commit of a plan compares it';
COMMENT ON COLUMN sessions.queue_rank IS 'so that one row comparison orders the queue: rank, submission, id';
COMMENT ON COLUMN sessions.settled_at IS 'the workflow has ended it, or is known to be gone; a CANCELLED row that is not settled still owes its workflow a stop';
COMMENT ON COLUMN sessions.signalled_at IS 'when the signal that this row calls for was sent last: it is sent again only after a while';
COMMENT ON COLUMN sessions.health_sends IS 'how often the last change of health was sent, 0 when there is none; it ends at 4, since the row itself decides at the deadline';
COMMENT ON COLUMN sessions.changed_xid IS 'a cached reader takes rows with changed_xid >= the xmin of its last snapshot: no late commit is missed';
CREATE FUNCTION touch_changed_xid() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN NEW.changed_xid := pg_current_xact_id(); RETURN NEW; END';
CREATE TRIGGER sessions_changed BEFORE UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION touch_changed_xid();
CREATE INDEX sessions_queue ON sessions (group_name, queue_rank, submitted_at, id) INCLUDE (gpu_count) WHERE state = 'PENDING';
CREATE INDEX sessions_created ON sessions (created_at DESC, id DESC);
CREATE INDEX sessions_user ON sessions (user_id, created_at DESC, id DESC);
CREATE INDEX sessions_project ON sessions (project_id, created_at DESC, id DESC);
CREATE INDEX sessions_pending_user ON sessions (user_id) WHERE state = 'PENDING';
CREATE INDEX sessions_pending_project ON sessions (project_id) WHERE state = 'PENDING';
CREATE INDEX sessions_pending_domain ON sessions (domain_id) WHERE state = 'PENDING';
CREATE INDEX sessions_open ON sessions (id) WHERE ended_at IS NULL;
CREATE INDEX sessions_running ON sessions (group_name) WHERE state = 'RUNNING';
CREATE UNIQUE INDEX sessions_open_name ON sessions (project_id, name) WHERE ended_at IS NULL;
CREATE INDEX sessions_name ON sessions (name, created_at DESC);
CREATE INDEX sessions_signal ON sessions (signalled_at) WHERE settled_at IS NULL AND
  (state IN ('SCHEDULED', 'TERMINATING', 'CANCELLED') OR stop_requested_at IS NOT NULL OR health_sends BETWEEN 1 AND 3);

CREATE TABLE kernels (
  id text PRIMARY KEY,
  session_id text NOT NULL REFERENCES sessions,
  role text NOT NULL,
  group_role text NOT NULL,
  rank int NOT NULL,
  hostname text NOT NULL,
  cpu_milli bigint NOT NULL,
  memory_bytes bigint NOT NULL,
  gpu_count bigint NOT NULL,
  gpu_memory_bytes bigint NOT NULL,
  exited_at timestamptz(3),
  exit_code int,
  exit_reason text,
  log_tail text,
  UNIQUE (session_id, rank),
  UNIQUE (session_id, hostname)
);
COMMENT ON COLUMN kernels.exited_at IS 'of the present attempt; the first report of an exit stays';

CREATE TABLE session_mounts (
  session_id text NOT NULL REFERENCES sessions,
  target text NOT NULL,
  folder_id text NOT NULL,
  folder_name text NOT NULL,
  volume text NOT NULL,
  read_only boolean NOT NULL,
  roles jsonb,
  PRIMARY KEY (session_id, target)
);
CREATE INDEX session_mounts_folder ON session_mounts (folder_id);

CREATE TABLE kernel_ports (
  kernel_id text NOT NULL REFERENCES kernels,
  name text NOT NULL,
  attempt int NOT NULL,
  container_port int NOT NULL,
  host_port int NOT NULL,
  PRIMARY KEY (kernel_id, name)
);

CREATE TABLE session_events (
  seq bigserial,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  session_id text NOT NULL,
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  kind text NOT NULL,
  from_value text,
  to_value text,
  cause text NOT NULL,
  actor text NOT NULL,
  attempt int NOT NULL,
  message text NOT NULL DEFAULT '',
  data jsonb NOT NULL DEFAULT '{}',
  PRIMARY KEY (xid, seq)
);
CREATE INDEX session_events_session ON session_events (session_id, xid, seq);
COMMENT ON COLUMN session_events.xid IS 'a sequence alone would skip a row that commits late: readers order by it and stop at the oldest running transaction';
`;
