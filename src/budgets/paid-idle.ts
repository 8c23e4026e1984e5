import type { BudgetReport } from '../contract/index.js';
import type { GpuTime } from './gpu-time.js';
import type { PaidSession } from './report-facts.js';
import { gpuSeconds } from './report-parts.js';
import type { ReportScope } from './report-scope.js';

/**
 * Charged sessions whose measured use was below `belowPercent` of what was measured, the most idle time first. Time in which
 * nothing was measured is paid, but is called neither used nor idle.
 */
export function paidIdle(
  paid: readonly PaidSession[],
  scope: Pick<ReportScope, 'pathOf'>,
  { belowPercent, isMeasured }: { readonly belowPercent: number; readonly isMeasured: boolean },
): BudgetReport['paidIdle'] {
  const idle = paid
    .filter(({ measured, used }) => measured > 0 && used * 100 < measured * belowPercent)
    .toSorted((a, b) => idleOf(b) - idleOf(a) || (a.sessionId < b.sessionId ? -1 : 1));
  const sum = (of: (session: PaidSession) => GpuTime): number =>
    gpuSeconds(idle.reduce((total, session) => total + of(session), 0));
  return {
    belowPercent,
    reason: isMeasured ? null : 'not measured',
    paidGpuSeconds: sum((session) => session.paid),
    idleGpuSeconds: sum(idleOf),
    sessions: idle.map((session) => ({
      sessionId: session.sessionId as BudgetReport['paidIdle']['sessions'][number]['sessionId'],
      name: session.name,
      user: session.user,
      project: session.project,
      budget: scope.pathOf(session.budgetId),
      paidGpuSeconds: gpuSeconds(session.paid),
      measuredGpuSeconds: gpuSeconds(session.measured),
      idleGpuSeconds: gpuSeconds(idleOf(session)),
      utilization: session.used / session.measured,
    })),
  };
}

const idleOf = ({ measured, used }: PaidSession): GpuTime => Math.max(0, measured - used);
