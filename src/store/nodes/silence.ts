import type { SessionId, SessionState } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { moveTo } from '../sessions/stop.js';
import { sql } from '../sql.js';
import type { DueSignal, NodeStore } from '../store.js';
import { raiseGeneration } from './raise-generation.js';

type Verdict = Awaited<ReturnType<NodeStore['silent']>>;

interface SilenceRow {
  readonly group_name: string;
  readonly state: string;
  readonly alive: boolean;
  readonly silent_for_ms: number;
  readonly end_after_ms: number;
}
interface FleetRow {
  readonly up_for_ms: number;
  readonly down_for_ms: number;
  readonly silent: number;
  readonly nodes: number;
}

/** No mark for this long: nobody who reaches Temporal has told that the control plane is up. */
const UP_MARK_MS = 15_000;
/** Fewer silent nodes than this are failures of their own, however small the fleet. */
const MANY_NODES = 3;
const MANY_SHARE = 0.2;
const ms = (interval: ReturnType<typeof sql>) => sql`(extract(epoch FROM ${interval}) * 1000)::float8`;

/** Waits a moment before the first verdict, so that those who fall silent together are counted together. */
const gatherMs = (limitMs: number): number => Math.min(5000, Math.max(100, limitMs / 8));

const readFleet = (tx: Runner): Promise<FleetRow | undefined> =>
  tx.first<FleetRow>(sql`
    SELECT coalesce((SELECT ${ms(sql`now() - up_since`)} FROM control_uptime), 0) AS up_for_ms,
      coalesce((SELECT ${ms(sql`now() - marked_at`)} FROM control_uptime), 1e12) AS down_for_ms,
      count(*) FILTER (WHERE silent_since IS NOT NULL)::int AS silent, count(*)::int AS nodes
    FROM nodes WHERE removed_at IS NULL AND reconciled AND lost_at IS NULL`);

const grace = (retryAfterMs: number, detail: string): Verdict => ({
  verdict: 'grace',
  retryAfterMs: Math.ceil(retryAfterMs),
  endAfterMs: 0,
  detail,
});

/** Why nobody may be called lost now, or null. */
function reasonForGrace(row: SilenceRow, fleet: FleetRow, limitMs: number): Verdict | null {
  if (fleet.down_for_ms > UP_MARK_MS) return grace(limitMs, 'the control plane itself is away: silence does not count');
  if (fleet.up_for_ms < 2 * limitMs) {
    return grace(2 * limitMs - fleet.up_for_ms, 'the control plane came back a short time ago');
  }
  if (fleet.silent >= MANY_NODES && fleet.silent > fleet.nodes * MANY_SHARE) {
    return grace(limitMs, `alarm: ${fleet.silent} of ${fleet.nodes} nodes fell silent; nothing is ended`);
  }
  const wait = gatherMs(limitMs) - row.silent_for_ms;
  return wait > 0 ? grace(wait, 'asking once more before it is called lost') : null;
}

export async function silent(tx: Runner, name: string, limitMs: number): Promise<Verdict> {
  const row = await tx.first<SilenceRow>(sql`
    UPDATE nodes n SET silent_since = CASE
        WHEN n.last_seen_at > now() - ${limitMs}::float8 * interval '1 ms' THEN NULL ELSE coalesce(n.silent_since, now()) END
    FROM resource_groups g WHERE n.name = ${name} AND n.removed_at IS NULL AND g.name = n.group_name
    RETURNING n.group_name, n.state, n.silent_since IS NULL AS alive,
      greatest(0, coalesce(${ms(sql`now() - n.silent_since`)}, 0)) AS silent_for_ms,
      (g.policy->>'lostAfterSeconds')::float8 * 1000 - coalesce(${ms(sql`now() - n.lost_at`)}, 0) AS end_after_ms`);
  if (row === undefined) return { verdict: 'removed', retryAfterMs: 0, endAfterMs: 0, detail: 'the node was removed' };
  const endAfterMs = Math.max(0, Math.ceil(row.end_after_ms));
  if (row.state === 'LOST') return { verdict: 'lost', retryAfterMs: 0, endAfterMs, detail: 'it is lost already' };
  if (row.alive) return { verdict: 'alive', retryAfterMs: 0, endAfterMs: 0, detail: 'it was seen within the limit' };
  const fleet = await readFleet(tx);
  const held = fleet === undefined ? null : reasonForGrace(row, fleet, limitMs);
  if (held !== null) return held;
  return { verdict: 'lost', retryAfterMs: 0, endAfterMs, detail: `no sign for ${Math.round(limitMs / 1000)} s` };
}

/** In a transaction of its own, after the verdict: the group's row is locked before the node's, as in a commit. */
export async function markLost(tx: Runner, name: string, detail: string): Promise<void> {
  const row = await tx.first<{ group_name: string }>(
    sql`SELECT group_name FROM nodes WHERE name = ${name} AND lost_at IS NULL AND silent_since IS NOT NULL`,
  );
  if (row === undefined) return;
  await raiseGeneration(tx, row.group_name);
  await tx.run(sql`
    UPDATE nodes SET lost_at = now(), lost_reason = ${detail}
    WHERE name = ${name} AND lost_at IS NULL AND silent_since IS NOT NULL`);
}

/**
 * Only while the node is LOST still: one that came back keeps its sessions. What has not begun yet begins, finds nobody, and
 * fails by itself; what is leaving leaves. The failure is the platform's: `finish` decides whether it is tried elsewhere.
 */
export async function failLost(tx: Runner, name: string): Promise<readonly DueSignal[]> {
  const rows = await tx.rows<{ id: SessionId; state: SessionState; attempt: number }>(sql`
    SELECT s.id, s.state, s.attempt FROM sessions s
    WHERE s.ended_at IS NULL AND s.state <> 'SCHEDULED' AND s.id IN (
      SELECT r.session_id FROM reservations r JOIN nodes n ON n.name = r.node
      WHERE r.node = ${name} AND r.released_at IS NULL AND n.lost_at IS NOT NULL) ORDER BY s.id FOR NO KEY UPDATE OF s`);
  for (const row of rows) {
    if (row.state === 'TERMINATING' || row.state === 'PREEMPTING') continue;
    const message = `the node ${name} gave no sign`;
    const lost = { sessionId: row.id, cause: 'node-lost' as const, actor: 'node', message, node: name };
    await moveTo(tx, row, { ...lost, to: 'TERMINATING' });
  }
  return rows.map((row) => ({ sessionId: row.id, kind: 'exited', attempt: row.attempt }));
}
