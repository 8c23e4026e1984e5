import { ROOT_BUDGET_ID, ROOT_BUDGET_PATH } from '../../contract/index.js';

const tree = `
CREATE TABLE budget_settings (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  settings jsonb NOT NULL DEFAULT '{}',
  version int NOT NULL DEFAULT 1,
  window_ms bigint NOT NULL GENERATED ALWAYS AS ((coalesce((settings->>'windowSeconds')::float8, 604800) * 1000)::bigint) STORED,
  half_life_ms bigint GENERATED ALWAYS AS (((settings->>'halfLifeSeconds')::float8 * 1000)::bigint) STORED
);
INSERT INTO budget_settings DEFAULT VALUES;
CREATE FUNCTION gpu_factor(settings jsonb, model text) RETURNS bigint LANGUAGE sql IMMUTABLE
  RETURN coalesce(round((settings->'factors'->>model)::numeric * 1000)::bigint, 1000);
COMMENT ON FUNCTION gpu_factor IS 'thousandths of a GPU that one of the model counts';
CREATE FUNCTION ms_of(interval) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT RETURN round(date_part('epoch', $1) * 1000)::bigint;

CREATE TABLE budgets (
  id text PRIMARY KEY,
  name text NOT NULL,
  parent_id text REFERENCES budgets,
  domain_id text REFERENCES domains,
  weight int NOT NULL CHECK (weight >= 0),
  cap_ms bigint CHECK (cap_ms >= 0),
  version int NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  closed_at timestamptz(3),
  CONSTRAINT one_root CHECK ((parent_id IS NULL) = (id = '${ROOT_BUDGET_ID}')),
  CONSTRAINT root_stays_open CHECK (parent_id IS NOT NULL OR closed_at IS NULL)
);
CREATE UNIQUE INDEX budgets_name ON budgets (parent_id, name) WHERE closed_at IS NULL;
CREATE INDEX budgets_parent ON budgets (parent_id);
CREATE TABLE budget_projects (
  budget_id text NOT NULL REFERENCES budgets,
  project_id text NOT NULL REFERENCES projects,
  PRIMARY KEY (budget_id, project_id)
);
CREATE TABLE budget_managers (
  budget_id text NOT NULL REFERENCES budgets,
  user_id text NOT NULL REFERENCES users,
  PRIMARY KEY (budget_id, user_id)
);
CREATE TABLE budget_versions (
  id bigserial PRIMARY KEY,
  budget_id text NOT NULL REFERENCES budgets,
  parent_id text REFERENCES budgets,
  weight int NOT NULL,
  since timestamptz(3) NOT NULL DEFAULT now(),
  until timestamptz(3)
);
CREATE UNIQUE INDEX budget_versions_now ON budget_versions (budget_id) WHERE until IS NULL;
COMMENT ON TABLE budget_versions IS 'how the tree stood when: reports of a past week are worked out with the claims of that week. A closed budget has no open row';
CREATE TABLE budget_changes (
  seq bigserial PRIMARY KEY,
  at timestamptz(3) NOT NULL DEFAULT now(),
  budget_id text NOT NULL REFERENCES budgets,
  budget text NOT NULL,
  actor text NOT NULL,
  field text NOT NULL,
  before jsonb,
  after jsonb
);
CREATE INDEX budget_changes_budget ON budget_changes (budget_id, seq);
COMMENT ON COLUMN budget_changes.budget IS 'its path at the time';
INSERT INTO budgets (id, name, weight) VALUES ('${ROOT_BUDGET_ID}', '${ROOT_BUDGET_PATH}', 1);
INSERT INTO budget_versions (budget_id, weight) VALUES ('${ROOT_BUDGET_ID}', 1);

CREATE VIEW open_leaves AS
  SELECT b.id FROM budgets b WHERE b.closed_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM budgets c WHERE c.parent_id = b.id AND c.closed_at IS NULL);
CREATE VIEW budget_homes AS
  WITH RECURSIVE above AS (
    SELECT id, id AS home, parent_id, closed_at FROM budgets
    UNION ALL
    SELECT a.id, p.id, p.parent_id, p.closed_at FROM above a JOIN budgets p ON p.id = a.parent_id WHERE a.closed_at IS NOT NULL)
  SELECT id, home FROM above WHERE closed_at IS NULL;
COMMENT ON VIEW budget_homes IS 'where the use of a budget counts: itself, or once it is closed the nearest above it that is open';
CREATE FUNCTION budget_path(wanted text) RETURNS text LANGUAGE sql STABLE STRICT AS
  'WITH RECURSIVE above AS (
    SELECT name, parent_id, 0 AS height FROM budgets WHERE id = wanted
    UNION ALL
    SELECT b.name, b.parent_id, a.height + 1 FROM above a JOIN budgets b ON b.id = a.parent_id)
  SELECT coalesce(string_agg(name, ''/'' ORDER BY height DESC) FILTER (WHERE parent_id IS NOT NULL), max(name)) FROM above';
`;

const charges = `
ALTER TABLE sessions ADD COLUMN budget_id text REFERENCES budgets;
CREATE INDEX sessions_open_budget ON sessions (budget_id) WHERE budget_id IS NOT NULL AND ended_at IS NULL;

ALTER TABLE reservations
  ADD COLUMN milli_gpus bigint NOT NULL DEFAULT 0,
  ADD COLUMN budget_id text,
  ADD COLUMN allocated boolean NOT NULL DEFAULT false,
  ADD COLUMN fair_share boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN reservations.milli_gpus IS 'thousandths of a GPU with the factors of its booking; a share counts its part of the device';
COMMENT ON COLUMN reservations.budget_id IS 'the open leaf at its booking; null: none';
COMMENT ON COLUMN reservations.allocated IS 'charged to the budget; else it is unallocated, and counts for nothing but the order among its like';
COMMENT ON COLUMN reservations.fair_share IS 'its GPU-time is kept: it has a GPU, in a group that orders by fair share';
CREATE INDEX reservations_gpu_time ON reservations USING gist (tstzrange(created_at, greatest(created_at, released_at)))
  INCLUDE (created_at, released_at, milli_gpus, charged, allocated, budget_id, project_id) WHERE fair_share AND folded;
COMMENT ON INDEX reservations_gpu_time IS 'who held GPUs at a moment, with all that a sum asks: 10,000 rows scattered over the table cost ten times as much';
CREATE INDEX reservations_gpu_time_open ON reservations (id) WHERE fair_share AND NOT folded;
CREATE INDEX reservations_budget ON reservations (budget_id, released_at) WHERE allocated;

CREATE TABLE gpu_time_buckets (
  size text NOT NULL CHECK (size IN ('hour', 'day')),
  start timestamptz(3) NOT NULL,
  kind text NOT NULL CHECK (kind IN ('charged', 'unallocated', 'uncharged')),
  account text NOT NULL,
  gpu_time bigint NOT NULL,
  PRIMARY KEY (size, start, kind, account)
) WITH (fillfactor = 70);
COMMENT ON TABLE gpu_time_buckets IS 'thousandths of a GPU × ms of folded reservations, by hour and by day (UTC), to a budget or where there is none to a project. Added in the transaction that folds, so each interval is there once; what is not folded, and what an edge of a window cuts, is summed from the intervals';
CREATE FUNCTION gpu_time_kind(charged boolean, allocated boolean) RETURNS text LANGUAGE sql IMMUTABLE RETURN
  CASE WHEN NOT charged THEN 'uncharged' WHEN allocated THEN 'charged' ELSE 'unallocated' END;
CREATE FUNCTION add_gpu_time(ids bigint[]) RETURNS void LANGUAGE sql AS
  'INSERT INTO gpu_time_buckets AS b (size, start, kind, account, gpu_time)
    SELECT z.size, h.start, gpu_time_kind(r.charged, r.allocated), coalesce(r.budget_id, r.project_id),
      sum(r.milli_gpus * ms_of(least(r.released_at, h.start + z.width) - greatest(r.created_at, h.start)))
    FROM reservations r CROSS JOIN (VALUES (''hour'', interval ''1 hour''), (''day'', interval ''24 hours'')) AS z(size, width)
    CROSS JOIN LATERAL generate_series(date_trunc(z.size, r.created_at, ''UTC''), r.released_at - interval ''1 ms'', z.width) AS h(start)
    WHERE r.id = ANY(ids) AND r.fair_share AND r.released_at > r.created_at
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (size, start, kind, account) DO UPDATE SET gpu_time = b.gpu_time + excluded.gpu_time';
CREATE FUNCTION waive_folded() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
    IF OLD.charged AND NOT NEW.charged THEN
      WITH parts AS (
        SELECT z.size, h.start, NEW.milli_gpus * ms_of(least(NEW.released_at, h.start + z.width) - greatest(NEW.created_at, h.start)) AS gpu_time
        FROM (VALUES (''hour'', interval ''1 hour''), (''day'', interval ''24 hours'')) AS z(size, width)
        CROSS JOIN LATERAL generate_series(date_trunc(z.size, NEW.created_at, ''UTC''), NEW.released_at - interval ''1 ms'', z.width) AS h(start))
      UPDATE gpu_time_buckets b SET gpu_time = b.gpu_time - p.gpu_time FROM parts p
      WHERE b.size = p.size AND b.start = p.start AND b.kind = gpu_time_kind(true, OLD.allocated)
        AND b.account = coalesce(OLD.budget_id, OLD.project_id);
      PERFORM add_gpu_time(ARRAY[NEW.id]);
    END IF;
    RETURN NULL;
  END';
CREATE TRIGGER reservations_waived AFTER UPDATE OF charged ON reservations FOR EACH ROW
  WHEN (OLD.folded AND NEW.folded AND OLD.fair_share AND OLD.charged AND NOT NEW.charged) EXECUTE FUNCTION waive_folded();
COMMENT ON TRIGGER reservations_waived ON reservations IS 'an interval that is found late to be nobody''s charge leaves the buckets that it was added to';

CREATE TABLE group_orders (
  group_name text PRIMARY KEY REFERENCES resource_groups,
  session_ids text[] NOT NULL,
  written_at timestamptz(3) NOT NULL DEFAULT now()
);
COMMENT ON TABLE group_orders IS 'under fair share the order in which the last pass considered those who wait: one row a group, instead of a place on 10,000 sessions';
`;

const history = `
CREATE TABLE node_health_intervals (
  id bigserial PRIMARY KEY,
  node text NOT NULL REFERENCES nodes,
  group_name text NOT NULL,
  fair_share boolean NOT NULL,
  milli_gpus bigint NOT NULL,
  healthy_milli_gpus bigint NOT NULL,
  is_first boolean NOT NULL,
  started_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3)
);
CREATE UNIQUE INDEX node_health_intervals_now ON node_health_intervals (node) WHERE ended_at IS NULL;
CREATE INDEX node_health_intervals_ended ON node_health_intervals (ended_at);
COMMENT ON TABLE node_health_intervals IS 'how many GPUs (× factor, thousandths) a node had and how many of them were healthy, from when to when. Written by triggers on all that it follows from';
COMMENT ON COLUMN node_health_intervals.is_first IS 'the first of the node under fair share: a node younger than a window counts as if it had been there all of it';
CREATE FUNCTION node_gpus(names text[]) RETURNS TABLE (node text, group_name text, fair_share boolean, milli_gpus bigint, healthy bigint)
  LANGUAGE sql STABLE AS
  'SELECT n.name, n.group_name, coalesce(g.policy->>''order'', ''fifo'') = ''fair-share'', sum(gpu_factor(s.settings, d.model))::bigint,
      coalesce(sum(gpu_factor(s.settings, d.model)) FILTER (WHERE d.healthy AND n.lost_at IS NULL AND n.unhealthy_reason IS NULL), 0)::bigint
    FROM nodes n JOIN resource_groups g ON g.name = n.group_name JOIN devices d ON d.node = n.name CROSS JOIN budget_settings s
    WHERE n.name = ANY(names) AND n.removed_at IS NULL AND n.reconciled GROUP BY n.name, n.group_name, g.policy';
CREATE FUNCTION record_node_gpus(names text[]) RETURNS void LANGUAGE plpgsql AS
  'DECLARE differing text[]; moment timestamptz(3);
  BEGIN
    SELECT array_agg(coalesce(f.node, i.node)) INTO differing FROM node_gpus(names) f
      FULL JOIN (SELECT * FROM node_health_intervals WHERE ended_at IS NULL AND node = ANY(names)) i ON i.node = f.node
      WHERE (f.group_name, f.fair_share, f.milli_gpus, f.healthy)
        IS DISTINCT FROM (i.group_name, i.fair_share, i.milli_gpus, i.healthy_milli_gpus);
    IF differing IS NULL THEN RETURN; END IF;
    PERFORM 1 FROM nodes WHERE name = ANY(differing) ORDER BY name FOR NO KEY UPDATE;
    moment := clock_timestamp();
    UPDATE node_health_intervals i SET ended_at = greatest(i.started_at, moment)
      WHERE i.node = ANY(differing) AND i.ended_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM node_gpus(differing) f WHERE f.node = i.node AND (f.group_name, f.fair_share, f.milli_gpus, f.healthy)
          IS NOT DISTINCT FROM (i.group_name, i.fair_share, i.milli_gpus, i.healthy_milli_gpus));
    INSERT INTO node_health_intervals (node, group_name, fair_share, milli_gpus, healthy_milli_gpus, is_first, started_at)
      SELECT f.node, f.group_name, f.fair_share, f.milli_gpus, f.healthy,
        f.fair_share AND NOT EXISTS (SELECT 1 FROM node_health_intervals e WHERE e.node = f.node AND e.fair_share), moment
      FROM node_gpus(differing) f
      WHERE NOT EXISTS (SELECT 1 FROM node_health_intervals o WHERE o.node = f.node AND o.ended_at IS NULL);
  END';
CREATE FUNCTION record_node() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN PERFORM record_node_gpus(ARRAY[NEW.name]); RETURN NULL; END';
CREATE TRIGGER nodes_gpus AFTER INSERT OR UPDATE OF lost_at, unhealthy_reason, removed_at, reconciled, group_name ON nodes
  FOR EACH ROW EXECUTE FUNCTION record_node();
CREATE FUNCTION record_devices() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN PERFORM record_node_gpus((SELECT coalesce(array_agg(DISTINCT node), ''{}'') FROM changed)); RETURN NULL; END';
CREATE TRIGGER devices_added AFTER INSERT ON devices REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION record_devices();
CREATE TRIGGER devices_changed AFTER UPDATE ON devices REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION record_devices();
CREATE TRIGGER devices_dropped AFTER DELETE ON devices REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION record_devices();

CREATE TABLE demand_intervals (
  id bigserial PRIMARY KEY,
  session_id text NOT NULL REFERENCES sessions,
  budget_id text NOT NULL,
  milli_gpus bigint NOT NULL,
  started_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3)
);
CREATE UNIQUE INDEX demand_intervals_now ON demand_intervals (session_id) WHERE ended_at IS NULL;
CREATE INDEX demand_intervals_ended ON demand_intervals (ended_at);
COMMENT ON TABLE demand_intervals IS 'while allocated work waited (its reason no hold), or held its room. Written by a trigger on sessions';
CREATE FUNCTION asked_milli_gpus(wanted text) RETURNS bigint LANGUAGE sql STABLE AS
  'SELECT coalesce(sum(ceil(m.factor * CASE WHEN k.gpu_memory_bytes > 0
      THEN ceil(1000.0 * k.gpu_memory_bytes / greatest(m.memory_bytes, k.gpu_memory_bytes)) ELSE 1000 * k.gpu_count END / 1000)), 0)::bigint
    FROM sessions s JOIN kernels k ON k.session_id = s.id CROSS JOIN LATERAL (
      SELECT coalesce(max(d.memory_bytes), 0) AS memory_bytes,
        coalesce(CASE WHEN s.gpu_model IS NULL THEN max(gpu_factor(b.settings, d.model)) ELSE max(gpu_factor(b.settings, s.gpu_model)) END, 1000) AS factor
      FROM budget_settings b LEFT JOIN (devices d JOIN nodes n ON n.name = d.node AND n.removed_at IS NULL)
        ON n.group_name = s.group_name AND d.model = coalesce(s.gpu_model, d.model)) m
    WHERE s.id = wanted';
CREATE FUNCTION note_demand(wanted text) RETURNS void LANGUAGE plpgsql AS
  'DECLARE owner text; amount bigint;
  BEGIN
    SELECT CASE WHEN s.state = ''PENDING'' THEN l.id ELSE r.budget_id END,
        CASE WHEN s.state = ''PENDING'' THEN asked_milli_gpus(s.id) ELSE r.milli_gpus END INTO owner, amount
      FROM sessions s JOIN resource_groups g ON g.name = s.group_name LEFT JOIN open_leaves l ON l.id = s.budget_id
      LEFT JOIN LATERAL (SELECT min(o.budget_id) AS budget_id, sum(o.milli_gpus)::bigint AS milli_gpus FROM reservations o
        WHERE o.session_id = s.id AND o.attempt = s.attempt AND o.released_at IS NULL AND o.allocated) r ON true
      WHERE s.id = wanted AND s.ended_at IS NULL AND s.min_runtime_ms > 0 AND (s.state <> ''PENDING''
        OR g.policy->>''order'' = ''fair-share'' AND CASE WHEN s.reason_class IS NULL THEN coalesce(s.starts_at, now()) <= now() AND NOT s.has_upstream
          ELSE s.reason_class <> ''hold'' END);
    UPDATE demand_intervals i SET ended_at = greatest(i.started_at, now())
      WHERE i.session_id = wanted AND i.ended_at IS NULL AND (i.budget_id, i.milli_gpus) IS DISTINCT FROM (owner, amount);
    IF owner IS NOT NULL AND amount > 0 THEN
      INSERT INTO demand_intervals (session_id, budget_id, milli_gpus, started_at) VALUES (wanted, owner, amount, now()) ON CONFLICT DO NOTHING;
    END IF;
  END';
CREATE FUNCTION note_own_demand() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM note_demand(NEW.id); RETURN NULL; END';
CREATE TRIGGER sessions_demand AFTER UPDATE OF state, reason_class ON sessions FOR EACH ROW
  WHEN (NEW.budget_id IS NOT NULL AND (OLD.state, OLD.reason_class) IS DISTINCT FROM (NEW.state, NEW.reason_class))
  EXECUTE FUNCTION note_own_demand();

CREATE FUNCTION record_group() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN
    PERFORM record_node_gpus((SELECT coalesce(array_agg(name), ''{}'') FROM nodes WHERE group_name = NEW.name));
    PERFORM note_demand(id) FROM sessions WHERE group_name = NEW.name AND budget_id IS NOT NULL AND state = ''PENDING'';
    RETURN NULL;
  END';
CREATE TRIGGER resource_groups_order AFTER UPDATE OF policy ON resource_groups FOR EACH ROW
  WHEN (coalesce(OLD.policy->>'order', 'fifo') <> coalesce(NEW.policy->>'order', 'fifo')) EXECUTE FUNCTION record_group();
CREATE FUNCTION record_factors() RETURNS trigger LANGUAGE plpgsql AS
  'BEGIN PERFORM record_node_gpus((SELECT coalesce(array_agg(name), ''{}'') FROM nodes)); RETURN NULL; END';
CREATE TRIGGER budget_settings_factors AFTER UPDATE OF settings ON budget_settings FOR EACH ROW
  WHEN (OLD.settings->'factors' IS DISTINCT FROM NEW.settings->'factors') EXECUTE FUNCTION record_factors();
SELECT record_node_gpus((SELECT coalesce(array_agg(name), '{}') FROM nodes));
`;

/** The tree; what is charged to it and how it is kept so that a window's sum is fast and exact; and how capacity and demand were. */
export const budgets = `${tree}${charges}${history}`;
