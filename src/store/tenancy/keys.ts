import type { ApiKey } from '../../contract/index.js';
import type { Database } from '../database.js';
import { sql } from '../sql.js';
import type { TenancyStore } from '../store.js';
import { byCreation, orExists, page, scoped } from './people.js';

const KEY = sql`
  SELECT k.id, k.name, u.name AS user, k.user_id AS "userId", k.scope, k.prefix, k.created_at AS "createdAt",
    k.expires_at AS "expiresAt", k.revoked_at AS "revokedAt", k.last_used_at AS "lastUsedAt"
  FROM api_keys k JOIN users u ON u.id = k.user_id`;

export const createKeys = (db: Database): Pick<TenancyStore, 'createKey' | 'listKeys' | 'getKey' | 'revokeKey'> => ({
  createKey: (key) =>
    orExists(async () => {
      const made = await db.run(sql`
        INSERT INTO api_keys (id, name, user_id, scope, hash, prefix, expires_at)
        SELECT ${key.id}, ${key.name}, u.id, ${key.scope}, ${key.hash}, ${key.prefix},
          now() + ${key.expiresInDays}::int * interval '1 day'
        FROM users u WHERE u.name = ${key.user}`);
      if (made === 0) return 'no-user';
      return (await db.first<ApiKey>(sql`${KEY} WHERE k.id = ${key.id}`)) ?? 'no-user';
    }),
  listKeys: async (query, viewer) => {
    const visible = scoped(viewer, { domain: sql`u.domain_id`, own: sql`u.id = ${viewer.userId}` });
    return byCreation(await db.rows<ApiKey>(sql`${KEY} WHERE ${visible} AND ${page(sql`k`, query)}`), query);
  },
  getKey: async (id, viewer) => {
    const visible = scoped(viewer, { domain: sql`u.domain_id`, own: sql`u.id = ${viewer.userId}` });
    return (await db.first<ApiKey>(sql`${KEY} WHERE ${visible} AND k.id = ${id}`)) ?? null;
  },
  revokeKey: async (id, viewer) => {
    const visible = scoped(viewer, { domain: sql`u.domain_id`, own: sql`u.id = ${viewer.userId}` });
    const found = await db.run(sql`
      UPDATE api_keys k SET revoked_at = coalesce(k.revoked_at, now()) FROM users u
      WHERE k.id = ${id} AND u.id = k.user_id AND ${visible}`);
    return found === 1 ? 'ok' : 'missing';
  },
});
