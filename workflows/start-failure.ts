import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import type { EndCause, StartFailure } from '../src/contract/index.js';

const causeOf = (error: unknown): unknown => (error instanceof ActivityFailure ? error.cause : error);

/** The order waited on the node's queue and nobody took it. */
export function nobodyTookIt(error: unknown): boolean {
  const cause = causeOf(error);
  return cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START';
}

/** Nobody took the order, or who took it beats no more: what became of it is not known. */
export function nodeIsSilent(error: unknown): boolean {
  const cause = causeOf(error);
  return (
    cause instanceof TimeoutFailure && (cause.timeoutType === 'SCHEDULE_TO_START' || cause.timeoutType === 'HEARTBEAT')
  );
}

/** The activity ran out of its own long time: for a node's presence no sign of silence. */
export function ranItsTime(error: unknown): boolean {
  const cause = causeOf(error);
  return cause instanceof TimeoutFailure && cause.timeoutType === 'START_TO_CLOSE';
}

/** The API refused the launch order: the placement ended elsewhere, and its row says why. */
export function isPlacementOver(error: unknown): boolean {
  const cause = causeOf(error);
  return cause instanceof ApplicationFailure && cause.type === 'PlacementOver';
}

/** What the node said of a start that failed; anything it could not say is the platform's failure. */
export function startFailureOf(error: unknown, node: string): { readonly cause: EndCause; readonly message: string } {
  const cause = causeOf(error);
  if (cause instanceof ApplicationFailure && cause.type === 'StartFailure') {
    const [failure] = (cause.details ?? []) as StartFailure[];
    if (failure !== undefined) return { cause: failure.cause, message: failure.message };
  }
  if (nobodyTookIt(error)) return { cause: 'node-lost', message: `the agent of ${node} did not take the start` };
  const text = cause instanceof Error ? cause.message : 'no cause given';
  return { cause: 'engine-failed', message: `the start on ${node} failed: ${text}` };
}
