import { setHandler } from '@temporalio/workflow';
import {
  exitedSignal,
  healthySignal,
  placedSignal,
  preemptSignal,
  type SessionSignal,
  stopSignal,
  unhealthySignal,
} from './messages.js';

/** What a session was told so far: for each kind the newest attempt that it was told of. A run hands it to the next. */
export interface SessionInbox {
  /** Highest attempt that a `placed` named. */
  placed: number;
  stop: number | null;
  /** The shortest grace that a stop asked for; null leaves the session's own. */
  stopGraceMs: number | null;
  exited: number;
  healthy: number;
  unhealthy: number;
  preempt: number;
}

const EMPTY: SessionInbox = {
  placed: 0,
  stop: null,
  stopGraceMs: null,
  exited: 0,
  healthy: 0,
  unhealthy: 0,
  preempt: 0,
};

/** Opens the handlers; called before the first await, since a signal may arrive with the very first task. */
export function openInbox(before: SessionInbox = EMPTY): SessionInbox {
  const inbox: SessionInbox = { ...before };
  const newest =
    (key: 'placed' | 'exited' | 'healthy' | 'unhealthy' | 'preempt') =>
    ({ attempt }: SessionSignal) => {
      inbox[key] = Math.max(inbox[key], attempt);
    };
  setHandler(placedSignal, newest('placed'));
  setHandler(exitedSignal, newest('exited'));
  setHandler(healthySignal, newest('healthy'));
  setHandler(unhealthySignal, newest('unhealthy'));
  setHandler(preemptSignal, newest('preempt'));
  setHandler(stopSignal, ({ attempt, graceMs }) => {
    if (graceMs !== undefined) inbox.stopGraceMs = Math.min(inbox.stopGraceMs ?? graceMs, graceMs);
    inbox.stop = Math.max(inbox.stop ?? 0, attempt);
  });
  return inbox;
}

/** A stop holds for the attempt that its row showed, and for every later one, until the row says that it was done with. */
export const stopAsked = (inbox: SessionInbox): boolean => inbox.stop !== null;

/** Later than any attempt that the ledger can count. */
export const EVERY_ATTEMPT = 2 ** 31 - 1;

/** Answers which attempt the stop named: the row is asked what became of it, once for each stop. */
export function takeStop(inbox: SessionInbox): number {
  const attempt = Math.min(Math.max(inbox.placed, inbox.stop ?? 0), EVERY_ATTEMPT);
  inbox.stop = null;
  inbox.stopGraceMs = null;
  return attempt;
}
