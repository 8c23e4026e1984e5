import type { SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/** The permission that a mount needs and its user has not; a mount that is not read-only needs both. */
export function mountLacks(rights: readonly string[], writes: boolean): 'read' | 'write' | undefined {
  if (!rights.includes('read')) return 'read';
  return writes && !rights.includes('write') ? 'write' : undefined;
}

interface MountRow {
  readonly name: string;
  readonly target: string;
  readonly read_only: boolean;
  readonly roles: readonly string[] | null;
  readonly state: string | null;
  readonly rights: readonly string[] | null;
}

/** Why a session's mounts, as things are now, may not be made; null when all may. The first by target is told. */
export async function mountRefusal(tx: Runner, sessionId: SessionId): Promise<string | null> {
  const rows = await tx.rows<MountRow>(sql`
    SELECT m.folder_name AS name, m.target, m.read_only, m.roles, f.state, to_json(folder_permissions(f, s.user_id)) AS rights
    FROM session_mounts m JOIN sessions s ON s.id = m.session_id LEFT JOIN folders f ON f.id = m.folder_id
    WHERE m.session_id = ${sessionId} ORDER BY m.target`);
  for (const { name, target, read_only, roles, state, rights } of rows) {
    const where = `folder ${name} at ${target}${roles === null ? '' : ` of ${roles.join(', ')}`}`;
    if (state !== 'READY') return `${where}: it is ${state === null ? 'gone' : `in state ${state}`}`;
    const lacks = mountLacks(rights ?? [], !read_only);
    if (lacks !== undefined) return `${where}: its user may no longer ${lacks} it`;
  }
  return null;
}
