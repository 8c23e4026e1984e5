import type { Page, PageQuery, Revision } from '../../contract/index.js';
import { decodeCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import type { By, Wish } from './check-apply.js';

/** The next number. Of what the template says, only names of its environment are readable: the rest is in `sealed_secrets`. */
export async function addRevision(
  tx: Runner,
  deploymentId: string,
  { wish, by }: { readonly wish: Wish; readonly by: By },
): Promise<number> {
  const next = await tx.first<{ revision: number }>(
    sql`SELECT coalesce(max(revision), 0) + 1 AS revision FROM deployment_revisions WHERE deployment_id = ${deploymentId}`,
  );
  const revision = next?.revision ?? 1;
  const { environment, registryCredentials: _, ...template } = wish.template;
  await tx.run(sql`
    INSERT INTO deployment_revisions (deployment_id, revision, template, environment_names, template_hash, sealed_secrets, created_by)
    VALUES (${deploymentId}, ${revision}, ${json(template)}::jsonb, ${json(Object.keys(environment).toSorted())}::jsonb,
      ${by.templateHash}, ${by.seal(deploymentId, revision)}::bytea, ${by.actor})`);
  return revision;
}

/** The revision that was asked for last, where that has this template: the same again makes no other one. */
export async function findRevision(tx: Runner, deploymentId: string, templateHash: Buffer): Promise<number | null> {
  const row = await tx.first<{ revision: number }>(sql`
    SELECT v.revision FROM deployments d JOIN deployment_revisions v ON v.deployment_id = d.id AND v.revision = d.applied_revision
    WHERE d.id = ${deploymentId} AND v.template_hash = ${templateHash}`);
  return row?.revision ?? null;
}

/** The newest first. */
export async function readRevisions(tx: Runner, deploymentId: string, query: PageQuery): Promise<Page<Revision>> {
  const key = decodeCursor(query.cursor, 2);
  const rows = await tx.rows<Revision>(sql`
    SELECT v.revision, v.template, v.environment_names AS "environmentNames", v.failed_message AS message, v.created_at AS "createdAt",
      v.created_by AS "createdBy", CASE WHEN v.revision = (d.rollout->>'target')::int THEN 'rolling-out'
        WHEN v.revision = d.current_revision THEN 'current' WHEN v.failed_message IS NOT NULL THEN 'failed' ELSE 'old' END AS state
    FROM deployment_revisions v JOIN deployments d ON d.id = v.deployment_id
    WHERE v.deployment_id = ${deploymentId} AND ${key === null ? sql`true` : sql`v.revision < ${key[1]}::int`}
    ORDER BY v.revision DESC LIMIT ${query.limit + 1}`);
  return pageOfRows(rows, query, { item: (row) => row, key: (row) => [row.createdAt, String(row.revision)] });
}
