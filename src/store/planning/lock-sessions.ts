import type { Plan } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/** A session that the plan names, as it is under this commit's lock. */
export interface LockedSession {
  readonly id: string;
  readonly state: string;
  readonly version: number;
  readonly attempt: number;
  readonly isStopped: boolean;
  readonly userId: string;
  readonly projectId: string;
  readonly domainId: string;
}
export type LockedSessions = ReadonlyMap<string, LockedSession>;

/** All that a plan places, stops, ends or keeps room for, in id order: a cancel that was first shows, one that comes now waits for this commit. */
export async function lockSessions(tx: Runner, plan: Plan): Promise<LockedSessions> {
  const named = [...plan.placed, ...plan.stops, ...plan.holds, ...plan.ends].map((one) => one.sessionId);
  if (named.length === 0) return new Map();
  const rows = await tx.rows<LockedSession>(sql`
    SELECT s.id, s.state, s.version, s.attempt, s.stop_requested_at IS NOT NULL AS "isStopped", s.user_id AS "userId",
      s.project_id AS "projectId", s.domain_id AS "domainId"
    FROM sessions s WHERE s.id = ANY(${[...new Set(named)]}::text[]) AND s.group_name = ${plan.group}
    ORDER BY s.id FOR NO KEY UPDATE`);
  return new Map(rows.map((row) => [row.id, row]));
}

/** It waits, as the plan saw it. */
export function stillWaits(
  locked: LockedSessions,
  one: { readonly sessionId: string; readonly version: number },
): boolean {
  const row = locked.get(one.sessionId);
  return row?.state === 'PENDING' && row.version === one.version && !row.isStopped;
}
