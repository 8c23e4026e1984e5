import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Refusal } from '../src/contract/index.js';

export type AdmitAnswer = { readonly outcome: 'admitted' } | { readonly outcome: 'refused'; readonly refusal: Refusal };

/** Answers once the session is admitted or refused. Its id is always `admit`, so a retry gets the same answer. */
export const admitUpdate = defineUpdate<AdmitAnswer>('admit');
export const ADMIT_UPDATE_ID = 'admit';

/** Signals to a session. Each carries the attempt that its row shows; the session ignores an older one. */
export interface SessionSignal {
  readonly attempt: number;
  /** With a stop: from SIGTERM to SIGKILL, instead of the session's own. */
  readonly graceMs?: number;
}
export const placedSignal = defineSignal<[SessionSignal]>('placed');
export const stopSignal = defineSignal<[SessionSignal]>('stop');
export const exitedSignal = defineSignal<[SessionSignal]>('exited');
export const healthySignal = defineSignal<[SessionSignal]>('healthy');
/** Its room is wanted elsewhere, or its node drains: the row decides, in `beginNotice`. */
export const preemptSignal = defineSignal<[SessionSignal]>('preempt');
export const unhealthySignal = defineSignal<[SessionSignal]>('unhealthy');

/** Says nothing: a planner reads the ledger, it does not listen. */
export const kickSignal = defineSignal('kick');

/** Says nothing, too: which orders a claim has stands in the ledger. */
export const orderedSignal = defineSignal('ordered');

/** What a session's workflow believes, for tests and `berth describe`; the ledger is the truth. */
export interface SessionView {
  readonly phase: string;
  readonly attempt: number;
}
export const sessionViewQuery = defineQuery<SessionView>('view');
