export const apps = `
CREATE TABLE app_shares (
  session_id text NOT NULL REFERENCES sessions,
  port text NOT NULL,
  sharing text NOT NULL CHECK (sharing IN ('me', 'project', 'link', 'public')),
  link_hash bytea,
  expires_at timestamptz(3),
  shared_by text NOT NULL,
  shared_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (session_id, port),
  CHECK ((sharing = 'link') = (link_hash IS NOT NULL))
);
COMMENT ON TABLE app_shares IS 'who may open a port beside the owner of its session; no row: nobody';

CREATE TABLE app_tickets (
  jti text PRIMARY KEY,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX app_tickets_expiry ON app_tickets (expires_at);
COMMENT ON TABLE app_tickets IS 'tickets that were used, until they have expired: each works once, at whichever gateway';

CREATE INDEX sessions_apps ON sessions (id) WHERE ended_at IS NULL AND spec->'ports' <> '[]'::jsonb;
`;
