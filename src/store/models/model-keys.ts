import type { ModelKeyLimits, PutModelKeyLimits } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { GatewayKey } from '../model-store.js';
import { sql } from '../sql.js';

interface KeyRow extends Omit<GatewayKey, 'limits' | 'project'> {
  readonly models: string[] | null;
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

/** The projects of its owner; a domain-admin's are those of the domain. Null for an unknown, revoked or expired key. */
export async function gatewayKey(tx: Runner, hash: Buffer): Promise<GatewayKey | null> {
  const row = await tx.first<KeyRow>(sql`
    SELECT k.id AS "keyId", k.scope, u.role = 'operator' AS "isOperator", to_json(l.models) AS models, l.requests_per_minute AS "requestsPerMinute",
      l.tokens_per_minute AS "tokensPerMinute",
      (SELECT coalesce(json_agg(project_path(p.id) ORDER BY p.name, p.id), '[]') FROM projects p
        WHERE EXISTS (SELECT 1 FROM memberships m WHERE m.project_id = p.id AND m.user_id = u.id)
          OR (u.role = 'domain-admin' AND p.domain_id = u.domain_id)) AS projects
    FROM api_keys k JOIN users u ON u.id = k.user_id LEFT JOIN model_key_limits l ON l.key_id = k.id
    WHERE k.hash = ${hash} AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`);
  if (row === undefined) return null;
  const { models, requestsPerMinute, tokensPerMinute, ...key } = row;
  const project = key.projects.length === 1 ? (key.projects[0] ?? null) : null;
  return { ...key, project, limits: { models, requestsPerMinute, tokensPerMinute } };
}

/** Without a row there are none; null for a key that is not there. */
export const readKeyLimits = async (tx: Runner, keyId: string): Promise<ModelKeyLimits | null> =>
  (await tx.first<ModelKeyLimits>(sql`
    SELECT k.id AS "keyId", to_json(l.models) AS models, l.requests_per_minute AS "requestsPerMinute", l.tokens_per_minute AS "tokensPerMinute"
    FROM api_keys k LEFT JOIN model_key_limits l ON l.key_id = k.id WHERE k.id = ${keyId}`)) ?? null;

export async function putKeyLimits(
  tx: Runner,
  keyId: string,
  limits: PutModelKeyLimits,
): Promise<ModelKeyLimits | null> {
  await tx.run(sql`
    INSERT INTO model_key_limits (key_id, models, requests_per_minute, tokens_per_minute)
    SELECT id, ${limits.models}::text[], ${limits.requestsPerMinute}::int, ${limits.tokensPerMinute}::int FROM api_keys WHERE id = ${keyId}
    ON CONFLICT (key_id) DO UPDATE SET models = excluded.models, requests_per_minute = excluded.requests_per_minute,
      tokens_per_minute = excluded.tokens_per_minute, changed_at = now()`);
  return readKeyLimits(tx, keyId);
}
