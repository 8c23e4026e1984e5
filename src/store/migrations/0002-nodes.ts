export const nodes = `
CREATE TABLE nodes (
  name text PRIMARY KEY,
  group_name text NOT NULL REFERENCES resource_groups,
  zone text,
  token_hash bytea NOT NULL UNIQUE,
  state text NOT NULL DEFAULT 'REGISTERED' CHECK (state IN ('REGISTERED', 'READY', 'CORDONED', 'LOST')),
  cordoned boolean NOT NULL DEFAULT false,
  state_reason text,
  architecture text NOT NULL DEFAULT 'amd64',
  cpu_milli bigint NOT NULL DEFAULT 0,
  memory_bytes bigint NOT NULL DEFAULT 0,
  agent_url text,
  address text,
  engine_id text,
  agent_version text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  last_seen_at timestamptz(3),
  silent_since timestamptz(3),
  lost_at timestamptz(3),
  removed_at timestamptz(3)
);
CREATE INDEX nodes_group ON nodes (group_name) WHERE removed_at IS NULL;
COMMENT ON COLUMN nodes.cordoned IS 'outlives LOST: a node that comes back is cordoned still';
COMMENT ON COLUMN nodes.silent_since IS 'first asked about after its beat stopped; several at once are an outage of the control plane or the network, not of the nodes';
COMMENT ON COLUMN nodes.removed_at IS 'the row stays, so that a node of the same name goes on with higher epochs and no old container can pass for a new one';

CREATE TABLE devices (
  node text NOT NULL REFERENCES nodes,
  id text NOT NULL,
  device_index int NOT NULL,
  model text NOT NULL,
  memory_bytes bigint NOT NULL,
  simulated boolean NOT NULL,
  healthy boolean NOT NULL,
  PRIMARY KEY (node, id)
);

CREATE TABLE node_use (
  node text PRIMARY KEY REFERENCES nodes,
  epoch bigint NOT NULL DEFAULT 0,
  cpu_milli_used bigint NOT NULL DEFAULT 0,
  cpu_milli_limit bigint NOT NULL DEFAULT 0,
  memory_bytes_used bigint NOT NULL DEFAULT 0,
  memory_bytes_limit bigint NOT NULL DEFAULT 0,
  gpu_count_used bigint NOT NULL DEFAULT 0,
  gpu_count_limit bigint NOT NULL DEFAULT 0,
  CONSTRAINT cpu_within_limit CHECK (cpu_milli_used BETWEEN 0 AND cpu_milli_limit),
  CONSTRAINT memory_within_limit CHECK (memory_bytes_used BETWEEN 0 AND memory_bytes_limit),
  CONSTRAINT gpus_within_limit CHECK (gpu_count_used BETWEEN 0 AND gpu_count_limit)
) WITH (fillfactor = 50);
COMMENT ON TABLE node_use IS 'what is promised of each node. Used is written by passes alone, under the lock of the group: added when they place, taken off when they fold released reservations in. So a release never waits for this row';
COMMENT ON COLUMN node_use.epoch IS 'of the newest reservation; the agent removes no container that is newer than the list it was given';
COMMENT ON COLUMN node_use.cpu_milli_limit IS 'promisable: the capacity, or what is promised already where a node came back smaller. A smaller node breaks no promise and takes nothing new; the limit falls to the capacity as promises end';

CREATE TABLE control_uptime (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  up_since timestamptz(3) NOT NULL,
  marked_at timestamptz(3) NOT NULL
);
COMMENT ON TABLE control_uptime IS 'silence of a node counts only while the control plane itself was up';
`;
