import type { Principal } from '../../contract/index.js';
import type { Database, Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';

interface PrincipalRow extends Omit<Principal, 'actingUserId' | 'actingUserName'> {
  readonly useIsOld: boolean;
}

const principalFrom = (source: Sql, scope: Sql, useIsOld: Sql): Sql => sql`
  SELECT u.id AS "userId", u.name AS "userName", u.role, d.id AS "domainId", d.name AS "domainName", ${scope} AS scope,
    ${useIsOld} AS "useIsOld",
    (SELECT coalesce(json_agg(json_build_object('id', p.id, 'name', p.name, 'role', m.role) ORDER BY m.created_at, p.id), '[]')
     FROM memberships m JOIN projects p ON p.id = m.project_id WHERE m.user_id = u.id) AS projects
  FROM ${source} JOIN domains d ON d.id = u.domain_id`;

const toPrincipal = ({ useIsOld: _, ...row }: PrincipalRow): Principal => ({
  ...row,
  actingUserId: row.userId,
  actingUserName: row.userName,
});

/** One indexed read; the time of the last use is written at most once a minute, and nobody waits for it. */
export async function authenticate(db: Database, hash: Buffer): Promise<Principal | null> {
  const row = await db.first<PrincipalRow>(sql`
    ${principalFrom(
      sql`api_keys k JOIN users u ON u.id = k.user_id`,
      sql`k.scope`,
      sql`k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute'`,
    )}
    WHERE k.hash = ${hash} AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`);
  if (row === undefined) return null;
  if (row.useIsOld) {
    db.run(sql`UPDATE api_keys SET last_used_at = now() WHERE hash = ${hash}`).catch((error: unknown) =>
      db.logger.warn({ error: String(error) }, 'the use of a key was not noted'),
    );
  }
  return toPrincipal(row);
}

export async function principalOf(db: Runner, userName: string): Promise<Principal | null> {
  const row = await db.first<PrincipalRow>(
    sql`${principalFrom(sql`users u`, sql`'write'`, sql`false`)} WHERE u.name = ${userName}`,
  );
  return row === undefined ? null : toPrincipal(row);
}
