import type { KernelId, NodeState, Reconcile, Reconciled, SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import type { DueSignal } from '../store.js';
import { raiseGeneration } from './raise-generation.js';
import { recordExit } from './record-exit.js';

interface OpenRow {
  readonly kernel_id: KernelId;
  readonly session_id: SessionId;
  readonly attempt: number;
  readonly epoch: number;
  readonly is_missing_when_absent: boolean;
}
export interface ReconcileResult {
  readonly answer: Reconciled;
  readonly signals: readonly DueSignal[];
  readonly becameReady: boolean;
}

/** A running agent listed its containers a moment before the ledger is read: what became RUNNING since is not missing. */
const NEWBORN_MS = 60_000;

/**
 * The open reservations with the epoch of the list, from one statement: whatever is placed later is newer than the list.
 * A placement that has not begun, or whose exit is known, is never missing.
 */
const readOpen = (tx: Runner, node: string, starting: boolean): Promise<OpenRow[]> =>
  tx.rows<OpenRow>(sql`
    SELECT r.kernel_id, r.session_id, r.attempt, r.epoch,
      s.state IN ('RUNNING', 'PREEMPTING') AND k.exited_at IS NULL AND r.running_at IS NOT NULL
        AND (${starting} OR r.running_at < now() - ${NEWBORN_MS} * interval '1 ms') AS is_missing_when_absent
    FROM reservations r JOIN sessions s ON s.id = r.session_id JOIN kernels k ON k.id = r.kernel_id
    WHERE r.node = ${node} AND r.released_at IS NULL ORDER BY r.epoch`);

/** READY only after this, and where nothing else holds of it. Returns the state after. */
async function makeReady(
  tx: Runner,
  node: string,
): Promise<{ readonly state: NodeState; readonly becameReady: boolean }> {
  const row = await tx.first<{ state: NodeState; group_name: string; changes: boolean }>(
    sql`SELECT state, group_name, lost_at IS NOT NULL OR NOT reconciled AS changes FROM nodes WHERE name = ${node} AND removed_at IS NULL`,
  );
  if (row === undefined) throw new Error(`there is no node ${node}`);
  if (row.changes) await raiseGeneration(tx, row.group_name); // the group's row before the node's, as in a commit
  const ready = await tx.first<{ state: NodeState }>(sql`
    UPDATE nodes SET reconciled = true, lost_at = NULL, lost_reason = NULL, last_seen_at = now(), silent_since = NULL
    WHERE name = ${node} RETURNING state`);
  const state = ready?.state ?? row.state;
  return { state, becameReady: row.state !== state && state === 'READY' };
}

async function recordMissing(tx: Runner, missing: readonly OpenRow[]): Promise<readonly DueSignal[]> {
  const signals: DueSignal[] = [];
  const now = (await tx.first<{ now: string }>(sql`SELECT now() AS now`))?.now ?? '';
  for (const { kernel_id, attempt } of missing) {
    const exit = { attempt, exitCode: -1, oomKilled: false, engineLost: true, finishedAt: now, logTail: '' };
    const signal = await recordExit(tx, kernel_id, { kernelId: kernel_id, ...exit });
    if (signal !== null) signals.push(signal);
  }
  return signals;
}

/** What the node no longer has is released there too: a node that was away when its sessions ended. */
async function acknowledgeReleased(tx: Runner, node: string, found: Reconcile): Promise<void> {
  await tx.run(sql`
    UPDATE reservations r SET node_released = true
    WHERE r.node = ${node} AND r.released_at IS NOT NULL AND NOT r.node_released AND NOT EXISTS (
      SELECT 1 FROM jsonb_to_recordset(${json(found.kernels)}::jsonb) AS f("kernelId" text, attempt int)
      WHERE f."kernelId" = r.kernel_id AND f.attempt = r.attempt)`);
}

export async function reconcile(tx: Runner, node: string, found: Reconcile): Promise<ReconcileResult> {
  const { state, becameReady } = await makeReady(tx, node);
  const epochs = await tx.first<{ epoch: number }>(sql`SELECT epoch FROM node_use WHERE node = ${node}`);
  const open = await readOpen(tx, node, found.starting);
  const keyOf = (one: { readonly attempt: number }, kernelId: string) => `${kernelId}/${one.attempt}`;
  const owned = new Set(open.map((row) => keyOf(row, row.kernel_id)));
  const present = new Set(found.kernels.map((kernel) => keyOf(kernel, kernel.kernelId)));
  // Read before the list: a reservation made in between is in the list and above this epoch, never the other way round.
  const epoch = epochs?.epoch ?? 0;
  const remove = found.kernels.filter((kernel) => kernel.epoch <= epoch && !owned.has(keyOf(kernel, kernel.kernelId)));
  const missing = open.filter((row) => row.is_missing_when_absent && !present.has(keyOf(row, row.kernel_id)));
  const signals = await recordMissing(tx, missing);
  await acknowledgeReleased(tx, node, found);
  return {
    answer: {
      epoch,
      expected: open.map((row) => ({
        kernelId: row.kernel_id,
        sessionId: row.session_id,
        attempt: row.attempt,
        epoch: row.epoch,
      })),
      remove: remove.map(({ kernelId, attempt }) => ({ kernelId, attempt })),
      missing: missing.map((row) => row.kernel_id),
      state,
    },
    signals,
    becameReady,
  };
}
