import { REASONS, type Reason, type SessionId, type SessionState, type Why } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { readAhead, readQueueState, WAITING_COLUMNS } from './queue.js';
import { type ReasonView, reasonView, type WaitingRow } from './reason-view.js';

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
  readonly evaluatedAt: string;
};

const HISTORY_LENGTH = 20;
const UNBOUNDED = 'the runtimes of what runs and of what waits ahead are not bounded';

const readRow = (tx: Runner, sessionId: SessionId): Promise<WhyRow | undefined> =>
  tx.first<WhyRow>(sql`
    SELECT ${WAITING_COLUMNS}, s.name, s.state, s.group_name AS "group", p.name AS project, d.name AS domain, u.name AS user,
      s.health, s.cause, s.result, now() AS "evaluatedAt",
      CASE s.state WHEN 'PENDING' THEN coalesce(s.reason_since, s.created_at) WHEN 'SCHEDULED' THEN s.placed_at
        WHEN 'RUNNING' THEN s.started_at WHEN 'TERMINATING' THEN coalesce(s.ending_at, s.created_at)
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

/** Commands that help, most helpful first. */
function actionsFor(row: WhyRow, view: ReasonView | null): Why['actions'] {
  const quota = {
    user_quota: ['user', row.user],
    project_quota: ['project', `${row.domain}/${row.project}`],
    domain_quota: ['domain', row.domain],
  };
  const scope = view !== null && view.reason in quota ? quota[view.reason as keyof typeof quota] : null;
  const actions: Why['actions'] = [];
  if (scope !== null)
    actions.push({ title: 'See the quota and what it holds', command: `berth quota get ${scope.join('/')}` });
  if (view?.blockedBy != null)
    actions.push({ title: 'See what the one ahead waits for', command: `berth why ${view.blockedBy}` });
  if (view !== null && ['no_schedulable_node', 'insufficient_capacity', 'fragmented'].includes(view.reason)) {
    actions.push({ title: 'See the nodes of the group', command: `berth node ls --group ${row.group}` });
  }
  if (row.state === 'PENDING') actions.push({ title: 'See the queue', command: `berth queue ${row.group}` });
  if (row.state === 'RUNNING') actions.push({ title: 'Follow its log', command: `berth logs -f ${row.id}` });
  const isOver = ['TERMINATED', 'CANCELLED', 'ERROR', 'TERMINATING'].includes(row.state);
  actions.push(
    isOver
      ? { title: 'See what happened', command: `berth history ${row.id}` }
      : { title: 'Stop it', command: `berth stop ${row.id}` },
  );
  return actions;
}

const common = (row: WhyRow, history: Why['history']) => ({
  sessionId: row.id,
  state: row.state,
  since: row.since,
  history,
  eta: null,
  nearest: null,
  reservedNodes: [],
  evaluatedAt: row.evaluatedAt,
});

async function whyWaiting(tx: Runner, row: WhyRow, history: Why['history']): Promise<Why | null> {
  const queue = await readQueueState(tx, row.group);
  if (queue === null) return null;
  const view = reasonView(row, queue);
  const { ahead, gpusAhead } = await readAhead(tx, row.group, row);
  return {
    ...common(row, history),
    class: REASONS[view.reason],
    reason: view.reason,
    message: view.message,
    blockers: [...view.blockers],
    queue: { name: row.group, position: ahead + 1, gpusAhead },
    nodes: view.nodes,
    etaUnknownBecause: UNBOUNDED,
    actions: actionsFor(row, view),
  };
}

function stage(row: WhyRow): {
  readonly class: Why['class'];
  readonly reason: Reason | null;
  readonly message: string;
} {
  switch (row.state) {
    case 'RUNNING':
      return row.health === 'starting'
        ? { class: 'starting', reason: 'health_check', message: 'it runs, and its health check has not succeeded yet' }
        : { class: 'running', reason: null, message: row.health === 'unhealthy' ? 'it runs, unhealthy' : 'it runs' };
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
  const bounds = { blockers: [], queue: null, nodes: null, etaUnknownBecause: null };
  return { ...common(row, history), ...stage(row), ...bounds, actions: actionsFor(row, null) };
}
