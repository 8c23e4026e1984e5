export const tenancy = `
CREATE TABLE domains (
  id text PRIMARY KEY,
  name text NOT NULL UNIQUE,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE TABLE projects (
  id text PRIMARY KEY,
  name text NOT NULL,
  domain_id text NOT NULL REFERENCES domains,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE (domain_id, name)
);
CREATE TABLE users (
  id text PRIMARY KEY,
  name text NOT NULL UNIQUE,
  domain_id text NOT NULL REFERENCES domains,
  role text NOT NULL CHECK (role IN ('user', 'domain-admin', 'operator')),
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE TABLE memberships (
  user_id text NOT NULL REFERENCES users,
  project_id text NOT NULL REFERENCES projects,
  role text NOT NULL CHECK (role IN ('member', 'manager')),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, project_id)
);
CREATE INDEX memberships_project ON memberships (project_id);
CREATE TABLE api_keys (
  id text PRIMARY KEY,
  name text NOT NULL,
  user_id text NOT NULL REFERENCES users,
  scope text NOT NULL CHECK (scope IN ('read', 'write')),
  hash bytea NOT NULL UNIQUE,
  prefix text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3)
);
CREATE UNIQUE INDEX api_keys_name ON api_keys (user_id, name) WHERE revoked_at IS NULL;
COMMENT ON COLUMN api_keys.hash IS 'SHA-256 of 256 random bits: nothing to guess, so no slow hash is needed and one indexed read finds it';
COMMENT ON COLUMN api_keys.last_used_at IS 'to the minute, so that reading does not write each time';

CREATE TABLE resource_groups (
  name text PRIMARY KEY,
  policy jsonb NOT NULL,
  generation bigint NOT NULL DEFAULT 1,
  nodes_version bigint NOT NULL DEFAULT 1,
  version int NOT NULL DEFAULT 1,
  blocked_by text,
  blocked_rank int,
  blocked_submitted_at timestamptz(3),
  last_pass_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
COMMENT ON COLUMN resource_groups.generation IS 'raised by what can invalidate a plan (capacity, node state, quota, policy, another plan), never by submits, releases or cancels: those would starve every commit';
COMMENT ON COLUMN resource_groups.nodes_version IS 'raised with the generation when nodes or devices change (not their use): what a pass knows of 8,000 devices it reads once for each value';
COMMENT ON COLUMN resource_groups.version IS 'the ETag of policy and access';
COMMENT ON COLUMN resource_groups.blocked_by IS 'whose lack of room stopped the last pass; the reason of everybody behind is derived from it on read instead of written 10,000 times';
COMMENT ON COLUMN resource_groups.blocked_rank IS 'with blocked_submitted_at: the place of blocked_by in the queue when it was set';

CREATE TABLE group_dirty (
  group_name text PRIMARY KEY REFERENCES resource_groups,
  dirty_at timestamptz(3)
);
COMMENT ON TABLE group_dirty IS 'apart from resource_groups, so that a submit never waits for the commit of a pass';

CREATE TABLE group_access (
  group_name text NOT NULL REFERENCES resource_groups,
  domain_id text REFERENCES domains,
  project_id text REFERENCES projects,
  CHECK ((domain_id IS NULL) <> (project_id IS NULL)),
  UNIQUE NULLS NOT DISTINCT (group_name, domain_id, project_id)
);
COMMENT ON TABLE group_access IS 'a group without a row here is open to everyone';

CREATE TABLE quotas (
  scope text NOT NULL CHECK (scope IN ('user', 'project', 'domain')),
  scope_id text NOT NULL,
  limits jsonb NOT NULL,
  version int NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (scope, scope_id)
);
COMMENT ON TABLE quotas IS 'limits only: what is held is the sum of open reservations, so no counter can drift or grow hot. A commit locks the rows it depends on, since two groups may share a quota';
`;
