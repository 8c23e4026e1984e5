import type { DeploymentToken, Page, PageQuery } from '../../contract/index.js';
import { afterCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import type { DeploymentProblem, DeploymentStore } from '../deployment-store.js';
import { sql } from '../sql.js';
import { refused } from './check-apply.js';
import { recordDeploymentEvent } from './deployment-events.js';
import { lockDeployment } from './lock-deployment.js';

type NewToken = Parameters<DeploymentStore['createToken']>[1];

const TOKEN = sql`o.id, o.name, o.created_by AS "createdBy", o.created_at AS "createdAt", o.expires_at AS "expiresAt"`;
const stands = sql`o.revoked_at IS NULL AND (o.expires_at IS NULL OR o.expires_at > now())`;

/**
 * Only its hash is kept. With the id of one that is there it makes no second one, and the secret is the later one: a request that is
 * made again has told nobody the first.
 */
export async function createToken(
  tx: Runner,
  reference: string,
  { token, actor }: { readonly token: NewToken; readonly actor: string },
): Promise<DeploymentToken | DeploymentProblem> {
  const locked = await lockDeployment(tx, reference);
  if (locked === undefined) return { problem: 'missing' };
  if (locked.isEnding) return { problem: 'ending' };
  const { id: deploymentId } = locked;
  const same = await tx.first(sql`
    SELECT 1 FROM deployment_tokens o WHERE o.deployment_id = ${deploymentId} AND o.name = ${token.name} AND o.id <> ${token.id} AND ${stands}`);
  if (same !== undefined) return refused('name', `it has a token ${token.name} already`);
  const made = await tx.first<{ is_new: boolean }>(sql`
    INSERT INTO deployment_tokens AS o (id, deployment_id, name, hash, created_by, expires_at)
    VALUES (${token.id}, ${deploymentId}, ${token.name}, ${token.hash}, ${actor}, ${token.expiresAt}::timestamptz)
    ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at
      WHERE o.deployment_id = excluded.deployment_id AND o.revoked_at IS NULL
    RETURNING xmax = 0 AS is_new`);
  if (made?.is_new === true) {
    const message = `token ${token.name} was made`;
    await recordDeploymentEvent(tx, { deploymentId, kind: 'token', message, data: { id: token.id }, actor });
  }
  const row = await tx.first<DeploymentToken>(
    sql`SELECT ${TOKEN} FROM deployment_tokens o WHERE o.id = ${token.id} AND o.deployment_id = ${deploymentId}`,
  );
  return row ?? { problem: 'missing' };
}

/** Those that have not ended, the oldest first. */
export async function readTokens(tx: Runner, deploymentId: string, query: PageQuery): Promise<Page<DeploymentToken>> {
  const after = afterCursor(query, { created: sql`o.created_at`, id: sql`o.id`, newestFirst: false });
  const rows = await tx.rows<DeploymentToken>(sql`
    SELECT ${TOKEN} FROM deployment_tokens o WHERE o.deployment_id = ${deploymentId} AND ${stands} AND ${after}
    ORDER BY o.created_at, o.id LIMIT ${query.limit + 1}`);
  return pageOfRows(rows, query, { item: (row) => row, key: (row) => [row.createdAt, row.id] });
}

/** False: it has no such token. Taken back again it is true, and nothing is written. */
export async function revokeToken(
  tx: Runner,
  reference: string,
  { tokenId, actor }: { readonly tokenId: string; readonly actor: string },
): Promise<boolean> {
  const locked = await lockDeployment(tx, reference);
  if (locked === undefined) return false;
  const { id: deploymentId } = locked;
  const own = sql`id = ${tokenId} AND deployment_id = ${deploymentId}`;
  const revoked = await tx.first<{ name: string }>(
    sql`UPDATE deployment_tokens SET revoked_at = now() WHERE ${own} AND revoked_at IS NULL RETURNING name`,
  );
  if (revoked === undefined) return (await tx.first(sql`SELECT 1 FROM deployment_tokens WHERE ${own}`)) !== undefined;
  const message = `token ${revoked.name} was taken back`;
  await recordDeploymentEvent(tx, { deploymentId, kind: 'token', message, data: { id: tokenId }, actor });
  return true;
}
