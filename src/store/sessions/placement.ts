import type { CreateSession, KernelId, SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { Placement, SessionStore } from '../session-store.js';
import { sql } from '../sql.js';
import { readAttributes } from './attributes.js';

/** The nodes of one attempt with their kernels by rank, and the deadlines of the request. */
export async function readPlacement(
  tx: Runner,
  sessionId: SessionId,
  { spec, attempt }: { readonly spec: CreateSession; readonly attempt: number },
): Promise<Placement> {
  const rows = await tx.rows<{ node: string; kernel_id: KernelId; epoch: number }>(sql`
    SELECT r.node, r.kernel_id, r.epoch FROM reservations r JOIN kernels k ON k.id = r.kernel_id
    WHERE r.session_id = ${sessionId} AND r.attempt = ${attempt} ORDER BY k.rank`);
  const nodes = [...new Set(rows.map((row) => row.node))].map((node) => ({
    node,
    kernels: rows.filter((row) => row.node === node).map((row) => ({ kernelId: row.kernel_id, epoch: row.epoch })),
  }));
  return {
    attempt,
    nodes,
    startDeadlineMs: spec.startDeadlineSeconds * 1000,
    healthDeadlineMs: spec.healthCheck === undefined ? null : spec.healthCheck.initialDelaySeconds * 1000,
    maxRuntimeMs: spec.maxRuntimeSeconds === undefined ? null : spec.maxRuntimeSeconds * 1000,
    graceMs: spec.gracePeriodSeconds * 1000,
  };
}

interface OpenRow {
  readonly spec: CreateSession;
  readonly attempt: number;
  readonly started: boolean;
  readonly ran_ms: number;
}

/** For a workflow that takes over: what is held, and how much of the maximum runtime is left. */
export async function openPlacement(tx: Runner, sessionId: SessionId): ReturnType<SessionStore['openPlacement']> {
  const row = await tx.first<OpenRow>(sql`
    SELECT s.spec, s.attempt, s.started_at IS NOT NULL AS started,
      coalesce(extract(epoch FROM now() - s.started_at) * 1000, 0)::bigint AS ran_ms
    FROM sessions s WHERE s.id = ${sessionId} AND s.state IN ('PREPARING', 'CREATING', 'RUNNING', 'PREEMPTING', 'TERMINATING')
      AND EXISTS (SELECT 1 FROM reservations r WHERE r.session_id = s.id AND r.attempt = s.attempt AND r.released_at IS NULL)`);
  const shown = row === undefined ? null : await readAttributes(tx, sessionId);
  if (row === undefined || shown === null) return null;
  const placement = await readPlacement(tx, sessionId, row);
  const maxRuntimeMs = placement.maxRuntimeMs === null ? null : Math.max(0, placement.maxRuntimeMs - row.ran_ms);
  return { placement: { ...placement, maxRuntimeMs }, shown, started: row.started };
}
