import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { Finished, Placement } from '../activities/control/control-activities.js';
import { control } from './activity-table.js';
import { EVERY_ATTEMPT, type SessionInbox, stopAsked, takeStop } from './session-inbox.js';

/** An attempt that may begin, or what the row says of a session that was told to stop while it waited. */
export type Opened = { readonly placement: Placement; readonly started: boolean } | { readonly stopped: Finished };

type Begun = { readonly placement: Placement; readonly started: boolean } | 'stop';

/**
 * Waits without a timer: waiting costs nothing, and when a failed attempt may be tried again is the planner's to know. A
 * stop asks the row once; the row may answer that the session waits on, since what was stopped was an earlier attempt.
 */
export async function untilPlaced(sessionId: string, inbox: SessionInbox, tried: number): Promise<Opened> {
  const end = (attempt: number) => CancellationScope.nonCancellable(() => control.finish(sessionId, attempt, true));
  try {
    const begun = await untilBegun(sessionId, inbox, tried);
    if (begun !== 'stop') return begun;
  } catch (error) {
    if (!isCancellation(error)) throw error;
    const message = 'its workflow was cancelled in Temporal';
    const ending = { sessionId, attempt: 0, cause: 'operator-stop', message } as const;
    await CancellationScope.nonCancellable(() => control.markEnding(ending));
    return { stopped: await end(EVERY_ATTEMPT) };
  }
  return { stopped: await end(takeStop(inbox)) };
}

/** Who was placed is decided by the row, in `begin`, never by a signal alone. */
async function untilBegun(sessionId: string, inbox: SessionInbox, from: number): Promise<Begun> {
  let tried = from;
  for (;;) {
    await condition(() => inbox.placed > tried || stopAsked(inbox));
    if (inbox.placed <= tried) return 'stop';
    tried = inbox.placed;
    const begun = await control.begin(sessionId, tried);
    if (begun.outcome === 'stop') return 'stop';
    if (begun.outcome === 'go') return { placement: begun.placement, started: false };
  }
}
