export const usage = `
CREATE TABLE usage_samples (
  kernel_id text NOT NULL REFERENCES kernels,
  attempt int NOT NULL,
  at timestamptz(3) NOT NULL,
  taken_at timestamptz(3) NOT NULL,
  every_ms int NOT NULL,
  segment int NOT NULL,
  cpu_nanoseconds bigint NOT NULL,
  memory_bytes bigint NOT NULL,
  received_bytes bigint NOT NULL,
  sent_bytes bigint NOT NULL,
  devices jsonb NOT NULL DEFAULT '[]',
  cpu_milli real,
  gpu_percent real,
  gpu_memory_percent real,
  memory_percent real NOT NULL,
  PRIMARY KEY (kernel_id, attempt, at)
);
CREATE INDEX usage_samples_age ON usage_samples USING brin (at);
COMMENT ON TABLE usage_samples IS 'counters as nodes told them, kept for the longest window of an idle policy';
COMMENT ON COLUMN usage_samples.at IS 'by the clock of the ledger';
COMMENT ON COLUMN usage_samples.taken_at IS 'by the clock of the node: names the batch, so that it is taken once';
COMMENT ON COLUMN usage_samples.segment IS 'one more after a gap and after a counter that went back: no rate and no window reaches over it';
COMMENT ON COLUMN usage_samples.cpu_milli IS 'over the last 5 min of its segment; null for the first sample of one';
COMMENT ON COLUMN usage_samples.gpu_percent IS 'of the busiest device, over the same time; null where it is not known, or there is none';

CREATE TABLE gpu_use_hours (
  kernel_id text NOT NULL REFERENCES kernels,
  attempt int NOT NULL,
  hour timestamptz(3) NOT NULL,
  busy_ms bigint NOT NULL,
  observed_ms bigint NOT NULL,
  PRIMARY KEY (kernel_id, attempt, hour)
);
CREATE INDEX gpu_use_hours_hour ON gpu_use_hours (hour);
COMMENT ON COLUMN gpu_use_hours.busy_ms IS 'time in which its devices computed, of the time in which they were observed; each summed over them';

CREATE TABLE app_activity (
  session_id text NOT NULL REFERENCES sessions,
  gateway text NOT NULL,
  requests bigint NOT NULL DEFAULT 0,
  in_flight int NOT NULL DEFAULT 0,
  last_at timestamptz(3) NOT NULL,
  PRIMARY KEY (session_id, gateway)
);
CREATE TABLE activity_gateways (
  gateway text PRIMARY KEY,
  since timestamptz(3) NOT NULL DEFAULT now(),
  reported_at timestamptz(3) NOT NULL DEFAULT now()
);
COMMENT ON COLUMN activity_gateways.since IS 'it has reported without a gap since then';

CREATE TABLE session_idle (
  session_id text PRIMARY KEY REFERENCES sessions,
  attempt int NOT NULL,
  verdict jsonb NOT NULL,
  warned_at timestamptz(3),
  seen text NOT NULL DEFAULT '',
  look_at timestamptz(3),
  checked_at timestamptz(3) NOT NULL DEFAULT now()
);
COMMENT ON TABLE session_idle IS 'where running sessions stand with the idle policy of their group; a row of an older attempt says nothing';
COMMENT ON COLUMN session_idle.seen IS 'what the verdict rests on: without news it is not looked at before look_at';

UPDATE resource_groups SET policy = '{"idle": {}}'::jsonb || policy;
UPDATE sessions SET spec = '{"idleExemptions": []}'::jsonb || spec;
UPDATE submissions SET spec = '{"idleExemptions": []}'::jsonb || spec;
`;
