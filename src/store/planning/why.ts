import { REASONS, type Reason, type SessionId, type SessionState, type Why } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { IDLE } from '../usage/list-usage.js';
import { actionsFor } from './actions-for.js';
import { readAhead, readPlace, readQueueState } from './queue.js';
import { type ReasonView, reasonView } from './reason-view.js';
import { WAITING_COLUMNS, type WaitingRow } from './waiting-row.js';

type WhyRow = WaitingRow & {
  readonly name: string;
  readonly state: SessionState;
  readonly group: string;
  readonly project: string;
  readonly domain: string;
  readonly user: string;
  readonly health: string;
  readonly cause: string | null;
  readonly result: string;
  readonly since: string;
  readonly goneBy: string | null;
  readonly idle: Why['idle'];
  readonly evaluatedAt: string;
};

const HISTORY_LENGTH = 20;
const UNBOUNDED = 'the runtimes of what runs and of what waits ahead are not bounded';

const readRow = (tx: Runner, sessionId: SessionId): Promise<WhyRow | undefined> =>
  tx.first<WhyRow>(sql`
    SELECT ${WAITING_COLUMNS}, s.name, s.state, s.group_name AS "group", p.name AS project, d.name AS domain, u.name AS user,
      s.health, s.cause, s.result, s.gone_by AS "goneBy", (${IDLE}) AS idle, now() AS "evaluatedAt",
      CASE s.state WHEN 'PENDING' THEN coalesce(s.reason_since, s.created_at) WHEN 'SCHEDULED' THEN s.placed_at
        WHEN 'RUNNING' THEN s.started_at WHEN 'TERMINATING' THEN coalesce(s.ending_at, s.created_at)
        WHEN 'PREEMPTING' THEN coalesce(s.preempt_asked_at, s.created_at)
        ELSE coalesce(s.ended_at, s.reason_since, s.created_at) END AS since
    FROM sessions s JOIN users u ON u.id = s.user_id JOIN projects p ON p.id = s.project_id JOIN domains d ON d.id = s.domain_id
    WHERE s.id = ${sessionId}`);

const readHistory = async (tx: Runner, sessionId: SessionId): Promise<Why['history']> =>
  (
    await tx.rows<{ at: string; reason: string }>(sql`
      SELECT at, to_value AS reason FROM session_events
      WHERE session_id = ${sessionId} AND kind IN ('reason', 'progress', 'state') AND to_value IS NOT NULL
      ORDER BY xid DESC, seq DESC LIMIT ${HISTORY_LENGTH}`)
  ).toReversed();

const common = (row: WhyRow, history: Why['history']) => ({
  sessionId: row.id,
  state: row.state,
  since: row.since,
  idle: row.idle,
  history,
  evaluatedAt: row.evaluatedAt,
});

/** A bound, so both quantiles are it: what runs keeps its bounds at the latest. */
function startOf({ expectedStart }: ReasonView): Pick<Why, 'eta' | 'etaUnknownBecause'> {
  if (expectedStart === null) return { eta: null, etaUnknownBecause: UNBOUNDED };
  const { at, basis } = expectedStart;
  return at === null
    ? { eta: null, etaUnknownBecause: basis }
    : { eta: { p50: at, p90: at, basis }, etaUnknownBecause: null };
}

async function whyWaiting(tx: Runner, row: WhyRow, history: Why['history']): Promise<Why | null> {
  const queue = await readQueueState(tx, row.group);
  if (queue === null) return null;
  const view = reasonView(row, queue);
  const place = await readPlace(tx, queue, row.id);
  const { ahead, gpusAhead } = await readAhead(tx, queue, place ?? { ...row, place: 0 });
  return {
    ...common(row, history),
    class: REASONS[view.reason],
    reason: view.reason,
    message: view.message,
    blockers: [...view.blockers],
    queue: { name: row.group, position: ahead + 1, gpusAhead },
    nodes: view.nodes,
    nearest: view.nearest,
    reservedNodes: [...view.reservedNodes],
    ...startOf(view),
    actions: actionsFor(row, view),
  };
}

const RUNS: Readonly<Record<string, string>> = {
  degraded: 'it runs; its health check missed, and it still counts as healthy',
  unhealthy: 'it runs, unhealthy',
};

function stage(row: WhyRow): {
  readonly class: Why['class'];
  readonly reason: Reason | null;
  readonly message: string;
} {
  switch (row.state) {
    case 'RUNNING':
      return row.health === 'starting'
        ? { class: 'starting', reason: 'health_check', message: 'it runs, and its health check has not succeeded yet' }
        : { class: 'running', reason: null, message: RUNS[row.health] ?? 'it runs' };
    case 'PREEMPTING': {
      const by = row.goneBy === null ? '' : `, and is gone by ${row.goneBy} at the latest`;
      return { class: 'running', reason: null, message: `it was told to leave${by}: ${row.message ?? ''}` };
    }
    case 'TERMINATING':
      return { class: 'ended', reason: null, message: `it ends: ${row.message ?? row.cause ?? ''}` };
    case 'TERMINATED':
    case 'CANCELLED':
    case 'ERROR':
      return {
        class: 'ended',
        reason: null,
        message: [`${row.result} (${row.cause})`, row.message].filter(Boolean).join(': '),
      };
    default:
      return { class: 'starting', reason: row.reason ?? 'placed', message: row.message ?? '' };
  }
}

/** From one consistent view; its cost does not grow with the queue but for one count over the queue's index. */
export async function why(tx: Runner, sessionId: SessionId): Promise<Why | null> {
  const row = await readRow(tx, sessionId);
  if (row === undefined) return null;
  const history = await readHistory(tx, sessionId);
  if (row.state === 'PENDING') return whyWaiting(tx, row, history);
  const none = {
    blockers: [],
    queue: null,
    nodes: null,
    nearest: null,
    reservedNodes: [],
    eta: null,
    etaUnknownBecause: null,
  };
  return { ...common(row, history), ...stage(row), ...none, actions: actionsFor(row, null) };
}
