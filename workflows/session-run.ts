import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import type { Attempt, AttemptEnd } from './session-attempt.js';
import { stopAsked } from './session-inbox.js';

/** Waits while the session runs. Its deadlines are durable timers; a stop or an exit is in the row when its signal comes. */
export async function untilEnd({ placement, inbox }: Attempt): Promise<AttemptEnd> {
  const { attempt, healthDeadlineMs, maxRuntimeMs } = placement;
  let due: AttemptEnd | undefined;
  const deadlines = new CancellationScope();
  const arm = (ms: number | null, summary: string, onDue: () => AttemptEnd | undefined) => {
    if (ms === null) return;
    // A cancelled timer is no failure: the session ended before it was due.
    deadlines
      .run(() => sleep(ms, { summary }))
      .then(
        () => {
          due ??= onDue();
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

  await condition(() => stopAsked(inbox) || inbox.exited >= attempt || inbox.unhealthy >= attempt || due !== undefined);
  deadlines.cancel();
  if (stopAsked(inbox) || inbox.exited >= attempt) return 'recorded';
  return due ?? { cause: 'health-check', message: 'its health check failed too often in a row' };
}
