import { groupPolicySchema } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { raiseGeneration } from '../nodes/raise-generation.js';
import { json, sql } from '../sql.js';
import type { Bootstrap } from '../store.js';

async function people(tx: Runner, { ids }: Bootstrap): Promise<void> {
  await tx.run(sql`INSERT INTO domains (id, name) VALUES (${ids.domain}, 'default') ON CONFLICT DO NOTHING`);
  await tx.run(sql`
    INSERT INTO projects (id, name, domain_id) SELECT ${ids.project}, 'default', id FROM domains WHERE name = 'default'
    ON CONFLICT DO NOTHING`);
  await tx.run(sql`
    INSERT INTO users (id, name, domain_id, role) SELECT ${ids.user}, 'admin', id, 'operator' FROM domains WHERE name = 'default'
    ON CONFLICT DO NOTHING`);
  await tx.run(sql`
    INSERT INTO memberships (user_id, project_id, role)
    SELECT u.id, p.id, 'manager' FROM users u, projects p JOIN domains d ON d.id = p.domain_id
    WHERE u.name = 'admin' AND p.name = 'default' AND d.name = 'default' ON CONFLICT DO NOTHING`);
}

/** A key file that was written anew has another hash: it is added, and the old ones stay until they are revoked. */
async function key(tx: Runner, { ids, adminKeyHash, adminKeyPrefix }: Bootstrap): Promise<void> {
  await tx.run(sql`
    INSERT INTO api_keys AS k (id, name, user_id, scope, hash, prefix)
    SELECT ${ids.key}, 'admin-' || left(encode(${adminKeyHash}::bytea, 'hex'), 12), u.id, 'write', ${adminKeyHash}, ${adminKeyPrefix}
    FROM users u WHERE u.name = 'admin' AND NOT EXISTS (SELECT 1 FROM api_keys WHERE hash = ${adminKeyHash})
    ON CONFLICT DO NOTHING`);
}

/** Changes nothing that is there. */
export async function bootstrap(tx: Runner, first: Bootstrap): Promise<void> {
  await tx.run(sql`SELECT pg_advisory_xact_lock(hashtextextended('bootstrap', 0))`);
  await people(tx, first);
  await key(tx, first);
  await tx.run(sql`
    INSERT INTO resource_groups (name, policy) VALUES (${first.group}, ${json(groupPolicySchema.parse({}))}::jsonb)
    ON CONFLICT DO NOTHING`);
  await tx.run(sql`INSERT INTO group_dirty (group_name) VALUES (${first.group}) ON CONFLICT DO NOTHING`);
  for (const { name, tokenHash } of first.nodes) {
    const made = await tx.run(sql`
      INSERT INTO nodes (name, group_name, token_hash) VALUES (${name}, ${first.group}, ${tokenHash})
      ON CONFLICT (name) DO UPDATE SET token_hash = excluded.token_hash WHERE nodes.token_hash <> excluded.token_hash`);
    if (made === 1) await raiseGeneration(tx, first.group);
    await tx.run(sql`INSERT INTO node_use (node) VALUES (${name}) ON CONFLICT DO NOTHING`);
  }
  await tx.run(sql`INSERT INTO volumes (name) SELECT unnest(${first.volumes}::text[]) ON CONFLICT DO NOTHING`);
}
