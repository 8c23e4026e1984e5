import type { Dependency } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { AdmissionContext, Submission } from '../session-store.js';
import { json, sql } from '../sql.js';
import { sessionVisible } from './visible.js';

/** Of `sessions u`: whether what waits for it may start. Only a success is one. */
export const DEPENDENCY_STATE = sql`CASE WHEN u.ended_at IS NULL THEN 'open' WHEN u.result = 'success' THEN 'succeeded' ELSE 'failed' END`;

/** By id, else by name as `find` does: the open one before the newest that ended, one's own before others'. */
export async function readDependencies(tx: Runner, submission: Submission): Promise<AdmissionContext['dependencies']> {
  const { spec, principal, sessionId } = submission;
  if (spec.dependsOn.length === 0) return [];
  const rows = await tx.rows<{ asked: string; found: Omit<Dependency, 'onFailure'> | null }>(sql`
    SELECT a.session AS asked, f.found
    FROM jsonb_to_recordset(${json(spec.dependsOn)}::jsonb) AS a(session text)
    LEFT JOIN LATERAL (
      SELECT json_build_object('sessionId', s.id, 'name', s.name, 'state',
        (SELECT ${DEPENDENCY_STATE} FROM sessions u WHERE u.id = s.id)) AS found
      FROM sessions s WHERE (s.id = a.session OR s.name = a.session) AND s.id <> ${sessionId} AND ${sessionVisible(principal)}
      ORDER BY s.id = a.session DESC, s.ended_at IS NULL DESC, s.user_id = ${principal.userId} DESC, s.created_at DESC, s.id DESC
      LIMIT 1) f ON true`);
  const foundOf = new Map(rows.map((row) => [row.asked, row.found]));
  return spec.dependsOn.map(({ session, onFailure }) => {
    const found = foundOf.get(session) ?? null;
    return { asked: session, found: found === null ? null : { ...found, onFailure } };
  });
}

/** Groups where somebody waits for this session: what they may do now, a pass of theirs decides. */
export async function dependentGroups(tx: Runner, sessionId: string): Promise<readonly string[]> {
  const rows = await tx.rows<{ group_name: string }>(sql`
    SELECT DISTINCT s.group_name FROM session_dependencies d JOIN sessions s ON s.id = d.session_id
    WHERE d.upstream_id = ${sessionId} AND s.state = 'PENDING' ORDER BY s.group_name`);
  return rows.map((row) => row.group_name);
}
