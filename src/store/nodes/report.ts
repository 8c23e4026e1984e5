import type { KernelId, NodeReport, SessionId, SessionState } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { recordEvent } from '../record-event.js';
import { json, sql } from '../sql.js';
import type { DueSignal } from '../store.js';
import { recordExit } from './record-exit.js';

interface PlacedRow {
  readonly session_id: SessionId;
  readonly state: SessionState;
  readonly attempt: number;
  readonly reason: string | null;
  readonly health: string;
  readonly is_over: boolean;
}
type Report<Kind extends NodeReport['kind']> = Extract<NodeReport, { kind: Kind }>;

export interface ReportResult {
  readonly kernelId: KernelId;
  readonly accepted: boolean;
  readonly detail: string | null;
  readonly signal: DueSignal | null;
  readonly sessionId: string | null;
}

const PHASE_REASONS = { pulling: 'pulling_image', mounting: 'mounting', creating: 'creating' } as const;

/** An event only when the phase changes: the bytes of a pull are a message, not a history. */
async function progress(tx: Runner, row: PlacedRow, report: Report<'progress'>): Promise<void> {
  if (row.state !== 'PREPARING' && row.state !== 'CREATING') return;
  const moves = row.state === 'PREPARING' && report.phase === 'creating';
  const reason = PHASE_REASONS[report.phase];
  if (row.state === 'CREATING' && report.phase !== 'creating') return; // another kernel is further
  await tx.run(sql`
    UPDATE sessions SET state = ${moves ? 'CREATING' : row.state}, version = version + ${moves ? 1 : 0}, message = ${report.message},
      reason = ${reason}, reason_class = 'starting', reason_since = CASE WHEN reason IS DISTINCT FROM ${reason} THEN now() ELSE reason_since END
    WHERE id = ${row.session_id}`);
  const event = { sessionId: row.session_id, actor: 'node', attempt: row.attempt, message: report.message };
  if (moves) await recordEvent(tx, { ...event, kind: 'state', from: 'PREPARING', to: 'CREATING', cause: 'creating' });
  else if (row.reason !== reason) {
    await recordEvent(tx, { ...event, kind: 'progress', from: row.reason, to: reason, cause: report.phase });
  }
}

const WAS_HEALTHY: readonly string[] = ['healthy', 'degraded'];

/**
 * Failures before the first success say nothing: `starting` ends by the deadline. A session that is degraded is healthy to its
 * workflow: only a first success, or the end of it, is signalled.
 */
async function health(tx: Runner, row: PlacedRow, report: Report<'health'>): Promise<DueSignal | null> {
  const to = report.level ?? (report.healthy ? 'healthy' : 'unhealthy');
  const isLive = row.state === 'CREATING' || row.state === 'PREPARING' || row.state === 'RUNNING';
  const tooEarly = to !== 'healthy' && !WAS_HEALTHY.includes(row.health);
  if (!isLive || row.health === to || tooEarly) return null;
  const isTold = to === 'unhealthy' || !WAS_HEALTHY.includes(row.health);
  await tx.run(sql`
    UPDATE sessions SET health = ${to},
      health_sends = CASE WHEN ${isTold} THEN 1 ELSE health_sends END, signalled_at = CASE WHEN ${isTold} THEN now() ELSE signalled_at END,
      reason = CASE WHEN state = 'RUNNING' THEN NULL ELSE reason END,
      reason_class = CASE WHEN state = 'RUNNING' THEN NULL ELSE reason_class END
    WHERE id = ${row.session_id}`);
  await recordEvent(tx, {
    sessionId: row.session_id,
    kind: 'health',
    from: row.health,
    to,
    cause: 'health-check',
    actor: 'node',
    attempt: row.attempt,
    message: report.message,
  });
  const kind = to === 'unhealthy' ? to : 'healthy';
  return isTold ? { sessionId: row.session_id, kind, attempt: row.attempt } : null;
}

async function ports(tx: Runner, report: Report<'ports'>): Promise<void> {
  await tx.run(sql`
    INSERT INTO kernel_ports (kernel_id, name, attempt, container_port, host_port)
    SELECT ${report.kernelId}, p.name, ${report.attempt}, p."containerPort", p."hostPort"
    FROM jsonb_to_recordset(${json(report.ports)}::jsonb) AS p(name text, "containerPort" int, "hostPort" int)
    ON CONFLICT (kernel_id, name) DO UPDATE SET attempt = excluded.attempt, container_port = excluded.container_port,
      host_port = excluded.host_port`);
}

async function apply(tx: Runner, row: PlacedRow, report: NodeReport): Promise<DueSignal | null> {
  switch (report.kind) {
    case 'exited':
      return recordExit(tx, report.kernelId, report);
    case 'health':
      return health(tx, row, report);
    case 'progress':
      await progress(tx, row, report);
      return null;
    case 'ports':
      await ports(tx, report);
      return null;
  }
}

/**
 * Refused when the kernel was never placed on this node at that attempt. For a placement that is over it is acknowledged
 * without effect: the agent may then remove what it keeps.
 */
export async function applyReport(tx: Runner, node: string, report: NodeReport): Promise<ReportResult> {
  const { kernelId, attempt } = report;
  const row = await tx.first<PlacedRow>(sql`
    SELECT s.id AS session_id, s.state, s.attempt, s.reason, s.health, r.released_at IS NOT NULL OR s.attempt <> r.attempt AS is_over
    FROM reservations r JOIN sessions s ON s.id = r.session_id
    WHERE r.kernel_id = ${kernelId} AND r.attempt = ${attempt} AND r.node = ${node} FOR NO KEY UPDATE OF s`);
  const refused = { kernelId, accepted: false, signal: null, sessionId: null };
  if (row === undefined) return { ...refused, detail: `the kernel is not placed on ${node} at attempt ${attempt}` };
  if (row.is_over) {
    return { kernelId, accepted: true, detail: 'the placement is over', signal: null, sessionId: row.session_id };
  }
  const signal = await apply(tx, row, report);
  return { kernelId, accepted: true, detail: null, signal, sessionId: row.session_id };
}
