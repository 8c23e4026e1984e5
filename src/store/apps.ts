import type { SessionId } from '../contract/index.js';
import type { AppRoute, AppShare, AppStore } from './app-store.js';
import type { StoreContext } from './context.js';
import { type Sql, sql } from './sql.js';

const SHARE = sql`
  json_build_object('port', a.port, 'sharing', a.sharing,
    'linkHash', rtrim(translate(encode(a.link_hash, 'base64'), '+/', '-_'), '='),
    'expiresAt', to_char(a.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;

const routesWhere = (condition: Sql): Sql => sql`
  SELECT s.id AS "sessionId", s.name, s.state, s.attempt, s.user_id AS "userId", s.project_id AS "projectId",
    s.spec->'ports' AS ports,
    coalesce((SELECT json_agg(${SHARE}) FROM app_shares a WHERE a.session_id = s.id), '[]') AS shares,
    coalesce((SELECT json_agg(m.user_id) FROM memberships m WHERE m.project_id = s.project_id AND EXISTS (
      SELECT 1 FROM app_shares a WHERE a.session_id = s.id AND a.sharing = 'project')), '[]') AS "memberIds",
    (SELECT json_build_object('kernelId', k.id, 'node', r.node, 'agentUrl', n.agent_url)
      FROM kernels k JOIN reservations r ON r.kernel_id = k.id AND r.attempt = s.attempt JOIN nodes n ON n.name = r.node
      WHERE k.session_id = s.id AND k.role = 'main' AND r.released_at IS NULL AND n.agent_url IS NOT NULL) AS place
  FROM sessions s WHERE s.spec->'ports' <> '[]'::jsonb AND ${condition}`;

async function share(
  { db, notifier }: StoreContext,
  sessionId: SessionId,
  { port, sharing, linkHash, expiresAt, by }: AppShare & { readonly by: string },
): Promise<void> {
  if (sharing === 'me') {
    await db.run(sql`DELETE FROM app_shares WHERE session_id = ${sessionId} AND port = ${port}`);
  } else {
    const hash = linkHash === null ? null : Buffer.from(linkHash, 'base64url');
    await db.run(sql`
      INSERT INTO app_shares (session_id, port, sharing, link_hash, expires_at, shared_by)
      VALUES (${sessionId}, ${port}, ${sharing}, ${hash}::bytea, ${expiresAt}::timestamptz, ${by})
      ON CONFLICT (session_id, port) DO UPDATE SET sharing = EXCLUDED.sharing, link_hash = EXCLUDED.link_hash,
        expires_at = EXCLUDED.expires_at, shared_by = EXCLUDED.shared_by, shared_at = now()`);
  }
  notifier.changed([sessionId]);
}

export const createAppStore = (context: StoreContext): AppStore => {
  const { db } = context;
  return {
    routes: () => db.rows<AppRoute>(routesWhere(sql`s.ended_at IS NULL`)),
    route: async (sessionId) => (await db.first<AppRoute>(routesWhere(sql`s.id = ${sessionId}`))) ?? null,
    share: (sessionId, wanted) => share(context, sessionId, wanted),
    shares: async (sessionId) =>
      (
        await db.rows<{ share: AppShare }>(
          sql`SELECT ${SHARE} AS share FROM app_shares a WHERE a.session_id = ${sessionId}`,
        )
      ).map((row) => row.share),
    useTicket: async ({ jti, expiresAt }) => {
      await db.run(sql`DELETE FROM app_tickets WHERE expires_at < now() - interval '1 minute'`);
      const taken = await db.run(
        sql`INSERT INTO app_tickets (jti, expires_at) VALUES (${jti}, ${expiresAt}::timestamptz) ON CONFLICT DO NOTHING`,
      );
      return taken === 1;
    },
  };
};
