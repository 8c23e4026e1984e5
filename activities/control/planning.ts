import type { SnapshotPending } from '../../src/contract/index.js';
import { needsWholeQueue } from '../../src/scheduler/needs-running.js';
import { considerPage, finishPass, startPass } from '../../src/scheduler/plan-pass.js';
import type { Committed, OpenPass } from '../../src/store/store.js';
import type { PassReport } from './control-activities.js';
import type { ControlDependencies, RecordedPass } from './dependencies.js';
import { deliver } from './kick.js';

/** Another planner of the group is at work: its pass will have seen what this one was kicked for, or is kicked again. */
const LOCK_WAIT_MS = 5_000;
/** A signal that its row still calls for after this is sent again. */
const RESEND_AFTER_MS = 2_000;
const RESEND_LIMIT = 200;
/** What is left to send, or was planned and could not be done while nothing else could either, is looked at again after this. */
const AGAIN_SOON_MS = 2_000;
/** For all signals of a pass: a plan that stops thousands must not outlast its activity. */
const SIGNALS_WITHIN_MS = 2_000;

/** One pass: snapshot, plan, commit, signals. A pass killed anywhere leaves rows whose signals the next one sends. */
export async function planGroup(dependencies: ControlDependencies, group: string): Promise<PassReport> {
  const { store } = dependencies;
  const pass = await store.planning.openPass(group, LOCK_WAIT_MS);
  if (pass === null) {
    const known = await store.control.groups();
    const outcome = known.includes(group) ? 'planned' : 'missing';
    return {
      outcome,
      placed: 0,
      waiting: 0,
      again: outcome === 'planned',
      nextWakeMs: null,
      head: 'another planner is at work',
    };
  }
  const { committed, waiting, nextWakeMs } = await planAndCommit(pass, dependencies).finally(() => pass.close());
  const placed = committed.placed.map(({ sessionId, attempt }) => ({
    sessionId,
    kind: 'placed' as const,
    attempt,
  }));
  const { left } = await deliver(dependencies, [...placed, ...committed.signals], SIGNALS_WITHIN_MS);
  // Giving them out marks them as sent: not when there is no time left to send them.
  const due =
    left > 0 ? [] : await store.planning.dueSignals({ group, olderThanMs: RESEND_AFTER_MS, limit: RESEND_LIMIT });
  await deliver(dependencies, due);
  await kickOthers(dependencies, committed.kicks);
  const moreIsDue = left > 0 || due.length === RESEND_LIMIT;
  dependencies.count('passes');
  dependencies.count('passes_stale', committed.outcome === 'stale' ? 1 : 0);
  return {
    outcome: 'planned',
    placed: placed.length,
    waiting,
    again: committed.outcome === 'stale' || (committed.dropped > 0 && isProgress(committed)),
    nextWakeMs: moreIsDue || committed.dropped > 0 ? Math.min(nextWakeMs ?? AGAIN_SOON_MS, AGAIN_SOON_MS) : nextWakeMs,
    head: await store.planning.headText(group),
  };
}

/** Without it the same plan would be dropped again at once, and again. */
const isProgress = ({ placed, signals }: Committed): boolean => placed.length + signals.length > 0;

/** Their flags are on since the commit: a kick that is lost is made up for by anyone who finds one old, and by the slow net. */
async function kickOthers({ door, log }: ControlDependencies, groups: readonly string[]): Promise<void> {
  for (const group of groups) {
    await door
      .kickGroup(group)
      .catch((error: unknown) => log.warn({ err: error, group }, 'a group with work to plan was not kicked'));
  }
}

async function record({ recordPass, log }: ControlDependencies, pass: RecordedPass): Promise<void> {
  await recordPass?.(pass).catch((error: unknown) =>
    log.warn({ err: error, group: pass.plan.group }, 'a pass was not recorded'),
  );
}

async function planAndCommit(
  pass: OpenPass,
  dependencies: ControlDependencies,
): Promise<{ readonly committed: Committed; readonly waiting: number; readonly nextWakeMs: number | null }> {
  const now = pass.base.takenAt; // Postgres's clock, and no other
  const planning = startPass(pass.base, now);
  const isReadToItsEnd = needsWholeQueue(pass.base.group.policy, pass.flags);
  const pending: SnapshotPending[] = [];
  for (;;) {
    const page = await pass.nextPage();
    if (dependencies.recordPass !== undefined) pending.push(...page);
    const goesOn = considerPage(planning, page); // an empty page too: it says that the queue has been read to its end
    if (page.length === 0 || !(goesOn || isReadToItsEnd)) break;
  }
  const plan = finishPass(planning);
  await record(dependencies, { now, snapshot: { ...pass.base, pending }, plan });
  const nextWakeMs = plan.nextWakeAt === null ? null : Math.max(0, Date.parse(plan.nextWakeAt) - Date.parse(now));
  return { committed: await pass.commit(plan), waiting: plan.waiting.length, nextWakeMs };
}
