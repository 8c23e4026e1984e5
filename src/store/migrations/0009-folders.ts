/**
 * Folders whole: whose they are, who may do what, the trash, invitations, the retention of a volume.
 *
 * `folder_permissions` is the one place that says what a user may do; it reads the ledger as it is now, so that a permission
 * taken away counts from the next question on. `own`: shares, gives away, moves to the trash.
 */
export const folders = `
ALTER TABLE folders DROP CONSTRAINT folders_state_check;
ALTER TABLE folders
  ADD CONSTRAINT folders_state_check CHECK (state IN ('CLONING', 'READY', 'TRASH', 'PURGING', 'PURGED')),
  ADD COLUMN owned_by text NOT NULL DEFAULT 'project' CHECK (owned_by IN ('user', 'project')),
  ADD COLUMN member_permissions text[] NOT NULL DEFAULT '{read,write,delete}',
  ADD COLUMN clone_of text,
  ADD COLUMN trashed_at timestamptz(3),
  ADD COLUMN used_bytes bigint,
  ADD COLUMN used_files bigint,
  ADD COLUMN counted_at timestamptz(3);
ALTER TABLE folders ALTER COLUMN owned_by DROP DEFAULT, ALTER COLUMN member_permissions DROP DEFAULT;

DROP INDEX folders_name;
CREATE UNIQUE INDEX folders_user_name ON folders (owner_id, name) WHERE owned_by = 'user' AND state IN ('CLONING', 'READY');
CREATE UNIQUE INDEX folders_project_name ON folders (project_id, name) WHERE owned_by = 'project' AND state IN ('CLONING', 'READY');
CREATE INDEX folders_project ON folders (project_id) WHERE state <> 'PURGED';
CREATE INDEX folders_owner ON folders (owner_id) WHERE state <> 'PURGED';
CREATE INDEX folders_unfinished ON folders (state, created_at) WHERE state IN ('CLONING', 'TRASH', 'PURGING');

ALTER TABLE volumes ADD COLUMN retention_seconds int NOT NULL DEFAULT 604800 CHECK (retention_seconds >= 0);

CREATE TABLE folder_invitations (
  id text PRIMARY KEY,
  folder_id text NOT NULL REFERENCES folders,
  user_id text NOT NULL REFERENCES users,
  permissions text[] NOT NULL,
  ownership boolean NOT NULL DEFAULT false,
  state text NOT NULL DEFAULT 'PENDING' CHECK (state IN ('PENDING', 'ACCEPTED', 'DECLINED', 'REVOKED')),
  invited_by text NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  answered_at timestamptz(3)
);
CREATE UNIQUE INDEX folder_invitations_open ON folder_invitations (folder_id, user_id, ownership)
  WHERE state IN ('PENDING', 'ACCEPTED');
CREATE INDEX folder_invitations_user ON folder_invitations (user_id) WHERE state IN ('PENDING', 'ACCEPTED');

CREATE FUNCTION folder_permissions(f folders, viewer text) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN f.owned_by = 'user' AND f.owner_id = viewer THEN '{own,read,write,delete}'::text[]
    WHEN f.owned_by = 'project' AND EXISTS (SELECT 1 FROM memberships m WHERE m.project_id = f.project_id
      AND m.user_id = viewer AND (m.role = 'manager' OR f.owner_id = viewer)) THEN '{own,read,write,delete}'::text[]
    WHEN EXISTS (SELECT 1 FROM users u JOIN projects p ON p.id = f.project_id WHERE u.id = viewer
      AND (u.role = 'operator' OR (u.role = 'domain-admin' AND u.domain_id = p.domain_id)))
      THEN '{own,read,write,delete}'::text[]
    ELSE coalesce((SELECT array_agg(DISTINCT given) FROM (
      SELECT unnest(f.member_permissions) AS given
      WHERE EXISTS (SELECT 1 FROM memberships m WHERE m.project_id = f.project_id AND m.user_id = viewer)
      UNION ALL
      SELECT unnest(i.permissions) FROM folder_invitations i
      WHERE i.folder_id = f.id AND i.user_id = viewer AND i.state = 'ACCEPTED' AND NOT i.ownership) all_given), '{}')
  END
$$;
`;
