import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import type { Attempt, AttemptEnd } from './session-attempt.js';
import { stopAsked } from './session-inbox.js';
import { askNotice, giveNotice } from './session-notice.js';

/** Waits while the session runs. Its deadlines are durable timers; a stop or an exit is in the row when its signal comes. */
export async function untilEnd(attempt: Attempt): Promise<AttemptEnd> {
  const { inbox, placement } = attempt;
  const deadlines = armDeadlines(attempt);
  const recorded = () => stopAsked(inbox) || inbox.exited >= placement.attempt;
  const unhealthy = () => inbox.unhealthy >= placement.attempt;
  const preempted = () => inbox.preempt >= placement.attempt;
  for (;;) {
    await condition(() => recorded() || unhealthy() || deadlines.due !== undefined || preempted());
    const isPreempted = !recorded() && !unhealthy() && deadlines.due === undefined;
    const notice = isPreempted ? await askNotice(attempt) : 'stop';
    if (notice === 'stale') continue;
    deadlines.disarm();
    if (notice !== 'stop') return { graceLeftMs: await giveNotice(attempt, notice) };
    if (recorded() || isPreempted) return 'recorded';
    return deadlines.due ?? { cause: 'health-check', message: 'its health check failed too often in a row' };
  }
}

interface Deadlines {
  /** Set by the first that passed. */
  due: AttemptEnd | undefined;
  disarm(): void;
}

/** Those of this attempt: another one has its own. */
function armDeadlines({ placement, inbox }: Attempt): Deadlines {
  const { attempt, healthDeadlineMs, maxRuntimeMs } = placement;
  const scope = new CancellationScope();
  const deadlines: Deadlines = { due: undefined, disarm: () => scope.cancel() };
  const arm = (ms: number | null, summary: string, onDue: () => AttemptEnd | undefined) => {
    if (ms === null) return;
    // A cancelled timer is no failure: the session ended before it was due.
    scope
      .run(() => sleep(ms, { summary }))
      .then(
        () => {
          deadlines.due ??= onDue();
        },
        () => undefined,
      );
  };
  arm(healthDeadlineMs, 'health deadline', () =>
    inbox.healthy >= attempt
      ? undefined
      : { cause: 'health-check', message: `no success of its health check within ${healthDeadlineMs! / 1000} s` },
  );
  arm(maxRuntimeMs, 'maximum runtime', () => ({
    cause: 'max-runtime',
    message: `it ran for its maximum of ${maxRuntimeMs! / 1000} s`,
  }));
  return deadlines;
}
