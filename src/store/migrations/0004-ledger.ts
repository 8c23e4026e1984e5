export const ledger = `
CREATE TABLE reservations (
  id bigserial PRIMARY KEY,
  kernel_id text NOT NULL REFERENCES kernels,
  attempt int NOT NULL,
  session_id text NOT NULL,
  user_id text NOT NULL,
  project_id text NOT NULL,
  domain_id text NOT NULL,
  node text NOT NULL REFERENCES nodes,
  epoch bigint NOT NULL,
  cpu_milli bigint NOT NULL,
  memory_bytes bigint NOT NULL,
  gpu_count bigint NOT NULL,
  gpu_memory_bytes bigint NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  running_at timestamptz(3),
  released_at timestamptz(3),
  node_released boolean NOT NULL DEFAULT false,
  folded boolean NOT NULL DEFAULT false,
  UNIQUE (kernel_id, attempt),
  UNIQUE (node, epoch)
);
CREATE UNIQUE INDEX reservations_open_kernel ON reservations (kernel_id) WHERE released_at IS NULL;
CREATE INDEX reservations_session ON reservations (session_id, attempt);
CREATE INDEX reservations_open_node ON reservations (node) WHERE released_at IS NULL;
CREATE INDEX reservations_open_user ON reservations (user_id) WHERE released_at IS NULL;
CREATE INDEX reservations_open_project ON reservations (project_id) WHERE released_at IS NULL;
CREATE INDEX reservations_open_domain ON reservations (domain_id) WHERE released_at IS NULL;
CREATE INDEX reservations_unfolded ON reservations (node) WHERE released_at IS NOT NULL AND NOT folded;
CREATE INDEX reservations_node_owed ON reservations (node) WHERE released_at IS NOT NULL AND NOT node_released;
COMMENT ON TABLE reservations IS 'one a kernel and attempt. created_at to released_at is what quotas hold and charges count';
COMMENT ON COLUMN reservations.released_at IS 'set once (WHERE released_at IS NULL): a second release is nothing';
COMMENT ON COLUMN reservations.node_released IS 'the node said that its container, ports and devices are free; false on a node that could not be reached, which then cleans up when it reconciles';
COMMENT ON COLUMN reservations.folded IS 'taken off node_use by a pass, once';

CREATE TABLE device_holds (
  id bigserial PRIMARY KEY,
  reservation_id bigint NOT NULL REFERENCES reservations,
  node text NOT NULL,
  device_id text NOT NULL,
  session_id text NOT NULL,
  kernel_id text NOT NULL,
  attempt int NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  released_at timestamptz(3),
  FOREIGN KEY (node, device_id) REFERENCES devices (node, id)
);
CREATE UNIQUE INDEX device_holds_one ON device_holds (node, device_id) WHERE released_at IS NULL;
CREATE INDEX device_holds_session ON device_holds (session_id) WHERE released_at IS NULL;
CREATE INDEX device_holds_kernel ON device_holds (kernel_id, attempt);
COMMENT ON INDEX device_holds_one IS 'a device belongs to one kernel: the database refuses the second';

CREATE TABLE audit_log (
  seq bigserial PRIMARY KEY,
  at timestamptz(3) NOT NULL DEFAULT now(),
  actor text NOT NULL,
  on_behalf_of text,
  action text NOT NULL,
  object text NOT NULL,
  data jsonb NOT NULL DEFAULT '{}',
  request_id text NOT NULL
);
CREATE TABLE idempotency (
  principal text NOT NULL,
  route text NOT NULL,
  key text NOT NULL,
  body_hash bytea NOT NULL,
  resource_id text NOT NULL,
  status int,
  body jsonb,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (principal, route, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE volumes (
  name text PRIMARY KEY,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE TABLE folders (
  id text PRIMARY KEY,
  name text NOT NULL,
  project_id text NOT NULL REFERENCES projects,
  owner_id text NOT NULL REFERENCES users,
  volume text NOT NULL,
  usage text NOT NULL,
  state text NOT NULL DEFAULT 'READY' CHECK (state IN ('READY', 'PURGING', 'PURGED')),
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX folders_name ON folders (project_id, name) WHERE state = 'READY';
`;
