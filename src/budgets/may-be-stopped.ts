import { loadText } from './ahead-because.js';
import { hoursText, spanText } from './amount-texts.js';
import type { BudgetRow } from './budget-facts.js';
import type { BudgetSight } from './budget-view.js';
import { compareLoads } from './gpu-time.js';
import { OrderLoads } from './order-loads.js';

/** What the contract of a session depends on for those who would stop it. */
export interface StoppableSession {
  /** The leaf that it charges; null: none. */
  readonly budgetId: string | null;
  readonly minRuntimeMs: number;
  readonly state: 'waiting' | 'starting' | 'running' | 'ended';
  /** null: it does not run. */
  readonly protectedUntilMs: number | null;
  readonly graceMs: number;
  readonly preemptible: boolean;
}

/** Who may stop it, now and later, in words. */
export function mayBeStoppedBy(sight: BudgetSight, session: StoppableSession, nowMs: number): string {
  const { state, protectedUntilMs, minRuntimeMs, graceMs } = session;
  if (state === 'ended') return 'nobody: it has ended';
  if (!session.preemptible) return 'nobody for fair share; only a drain, which starts its successor first';
  const notRunning = state === 'waiting' ? 'nobody while it waits; once it runs, ' : '';
  if (session.budgetId === null || minRuntimeMs === 0) {
    const graceText = spanText(Math.min(graceMs, sight.facts.settings.unallocatedGraceSeconds * 1000));
    return `${notRunning}any allocated request, at any time, after ${graceText} of notice: it is unallocated`;
  }
  const others = lessServed(sight, session.budgetId);
  const whom = `allocated requests of budgets that have had less for their weight${others}`;
  if (state === 'starting') return `nobody while it starts and for its first ${hoursText(minRuntimeMs)}; then ${whom}`;
  if (state === 'waiting') return `${notRunning}nobody for its first ${hoursText(minRuntimeMs)}; then ${whom}`;
  const left = (protectedUntilMs ?? nowMs) - nowMs;
  if (left > 0) {
    const until = new Date(protectedUntilMs ?? nowMs).toISOString();
    return `nobody until ${until} (another ${hoursText(left)}); then ${whom}`;
  }
  return others === NOBODY ? `nobody now, though its minimum runtime is over: its budget is the least served` : whom;
}

const NOBODY = '; as things are, none has';

/** The siblings on its way to the root that have had less than its own branch. */
function lessServed({ forest, ...sight }: BudgetSight, leafId: string): string {
  const loads = new OrderLoads({ forest, ...sight });
  const less = forest.lineOf(leafId).flatMap((own): string[] => {
    const siblings = forest.childrenOf(own.parentId ?? '').filter(({ id }) => id !== own.id);
    const under = siblings.filter((sibling) => compareLoads(loads.of(own), loads.of(sibling)) > 0);
    return under.length === 0
      ? []
      : [`${under.map(named).join(', ')} (${forest.pathOf(own.id)}: ${loadText(loads.of(own))})`];
    function named(sibling: BudgetRow): string {
      return `${forest.pathOf(sibling.id)} with ${loadText(loads.of(sibling))}`;
    }
  });
  return less.length === 0 ? NOBODY : `: now ${less.join('; ')}`;
}
