import type { EndCause, SessionState } from '../../contract/index.js';
import { decideRetry, type RetryPolicy } from '../../lifecycle/retry.js';
import { isPlatformFailure, type Outcome, outcomeOf } from './outcome.js';

/** An attempt that is over, as its row tells it. */
export interface AttemptFacts {
  readonly state: SessionState;
  readonly cause: EndCause | null;
  /** All its kernels ran, or one of them exited. */
  readonly ran: boolean;
  /** A person asked for its end. */
  readonly stopAsked: boolean;
  readonly preempt: { readonly cause: 'preempted' | 'drained'; readonly then: 'requeue' | 'end' } | null;
  readonly mainExitCode: number | null;
  /** It was told that it has to leave, before its main kernel's exit was recorded. */
  readonly told: boolean;
  /** Earlier attempts that the platform failed. */
  readonly failures: number;
  readonly retry: RetryPolicy;
}

export type Settlement =
  | ({ readonly next: 'end'; readonly cause: EndCause } & Outcome)
  | { readonly next: 'requeue'; readonly cause: EndCause }
  | { readonly next: 'retry'; readonly cause: EndCause; readonly backoffMs: number };

const ended = (cause: EndCause, ran: boolean): Settlement => ({ next: 'end', cause, ...outcomeOf(cause, ran) });

/**
 * It left for somebody else, or for a drain. What exits after it was told has heeded that, whatever its exit code: a program
 * that saves its work and exits 0 at SIGTERM is not done. What had exited by itself before ends as its exit says.
 */
function leave({ told, mainExitCode, ran }: AttemptFacts, preempt: NonNullable<AttemptFacts['preempt']>): Settlement {
  if (!told && mainExitCode !== null) return ended(mainExitCode === 0 ? 'completed' : 'user-failure', ran);
  if (preempt.then === 'requeue') return { next: 'requeue', cause: preempt.cause };
  return ended(preempt.cause, ran);
}

/** What becomes of the session: the order of the questions is the precedence. A row without a cause was left by its workflow. */
export function settle(facts: AttemptFacts): Settlement {
  const { state, preempt, stopAsked, failures, retry, ran } = facts;
  const cause = facts.cause ?? 'engine-failed';
  if (stopAsked) return ended(cause, ran);
  if (state === 'PREEMPTING' && preempt !== null) return leave(facts, preempt);
  const whose = isPlatformFailure(cause) ? 'platform' : 'user';
  const decision = decideRetry({ cause, whose, attempt: failures + 1, retry, stopRequested: false });
  return decision.again ? { next: 'retry', cause, backoffMs: decision.backoffMs } : ended(cause, ran);
}
