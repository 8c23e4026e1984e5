import type { SessionId } from '../../src/contract/index.js';
import type { ControlDependencies } from './dependencies.js';
import { deliver } from './kick.js';
import { sweepChangedDeployments, sweepDeploymentWorkflows } from './sweep-deployments.js';
import { sweepModelSignals, sweepModelWorkflows } from './sweep-models.js';

const RESEND_AFTER_MS = 5_000;
const ORPHAN_AFTER_MS = 10_000;
const PAGE = 500;
const ADMISSION_WAIT_MS = 1_000;

export interface Swept {
  readonly resent: number;
  readonly submitted: number;
  readonly takenOver: number;
  readonly closed: number;
}

/**
 * The frequent part: signals that rows call for and that nobody acknowledged, and submissions whose workflow was never
 * started (the API died in between, or Temporal was away).
 */
export async function sweepSignals(dependencies: ControlDependencies): Promise<Pick<Swept, 'resent' | 'submitted'>> {
  const { store } = dependencies;
  const due = await store.planning.dueSignals({ olderThanMs: RESEND_AFTER_MS, limit: PAGE });
  const { delivered: resent } = await deliver(dependencies, due);
  const orphans = await store.idempotency.orphanSubmissions(ORPHAN_AFTER_MS, PAGE);
  for (const sessionId of orphans) await startOrphan(dependencies, sessionId);
  await sweepModelSignals(dependencies, RESEND_AFTER_MS);
  await sweepChangedDeployments(dependencies, RESEND_AFTER_MS);
  dependencies.count('sweeper_submitted', orphans.length);
  return { resent, submitted: orphans.length };
}

/** A submission is started once under its id; one whose workflow was ended from outside before the admission starts anew. */
async function startOrphan({ door }: ControlDependencies, sessionId: SessionId): Promise<void> {
  const { outcome } = await door.submitSession(sessionId, ADMISSION_WAIT_MS);
  if (outcome === 'pending' && (await door.sessionWorkflowState(sessionId)) === 'closed')
    await door.takeOverSession(sessionId);
}

/**
 * The slow part: every open row has exactly one workflow, every group and node has one, and a workflow whose row has ended
 * is told so. Two stores may have been restored to different moments; what this did is counted.
 */
export async function sweepWorkflows(dependencies: ControlDependencies): Promise<Pick<Swept, 'takenOver' | 'closed'>> {
  const { store, door, count } = dependencies;
  for (const group of await store.control.groups()) await door.ensureGroup(group);
  for (const node of await store.control.nodes()) await door.ensureNode(node);
  await sweepModelWorkflows(dependencies);
  await sweepDeploymentWorkflows(dependencies);
  const open = new Set<string>();
  for await (const id of door.openSessionIds()) open.add(id);
  const closed = await closeEnded(dependencies, [...open]);
  const takenOver = await takeOverOpen(dependencies, open);
  count('sweeper_closed', closed);
  count('sweeper_taken_over', takenOver);
  return { takenOver, closed };
}

async function closeEnded({ store, door }: ControlDependencies, open: readonly string[]): Promise<number> {
  let closed = 0;
  for (let at = 0; at < open.length; at += PAGE) {
    for (const id of await store.control.endedOrMissing(open.slice(at, at + PAGE))) {
      // The session asks the ledger how it ended; one that is ending by itself does not mind.
      if (await door.signalSession({ sessionId: id as SessionId, kind: 'stop', attempt: Number.MAX_SAFE_INTEGER }))
        closed += 1;
    }
  }
  return closed;
}

async function takeOverOpen({ store, door, log }: ControlDependencies, open: ReadonlySet<string>): Promise<number> {
  let takenOver = 0;
  let after: string | null = null;
  for (;;) {
    const rows = await store.control.openSessions(after, PAGE);
    for (const { sessionId, ageMs } of rows) {
      if (open.has(sessionId) || ageMs < ORPHAN_AFTER_MS) continue;
      if ((await door.sessionWorkflowState(sessionId)) === 'open') continue; // visibility is some seconds behind
      log.warn({ sessionId }, 'an open session had no workflow; one takes over');
      await door.takeOverSession(sessionId);
      takenOver += 1;
    }
    const last: SessionId | undefined = rows.at(-1)?.sessionId;
    if (last === undefined) return takenOver;
    after = last;
  }
}
