import { setHandler } from '@temporalio/workflow';
import {
  exitedSignal,
  healthySignal,
  placedSignal,
  type SessionSignal,
  stopSignal,
  unhealthySignal,
} from './messages.js';

/** What a session was told so far: for each kind the newest attempt that it was told of. */
export interface SessionInbox {
  /** Highest attempt that a `placed` named. */
  placed: number;
  stop: number | null;
  /** The shortest grace that a stop asked for; null leaves the session's own. */
  stopGraceMs: number | null;
  exited: number;
  healthy: number;
  unhealthy: number;
}

/** Opens the handlers; called before the first await, since a signal may arrive with the very first task. */
export function openInbox(): SessionInbox {
  const inbox: SessionInbox = { placed: 0, stop: null, stopGraceMs: null, exited: 0, healthy: 0, unhealthy: 0 };
  const newest =
    (key: 'placed' | 'exited' | 'healthy' | 'unhealthy') =>
    ({ attempt }: SessionSignal) => {
      inbox[key] = Math.max(inbox[key], attempt);
    };
  setHandler(placedSignal, newest('placed'));
  setHandler(exitedSignal, newest('exited'));
  setHandler(healthySignal, newest('healthy'));
  setHandler(unhealthySignal, newest('unhealthy'));
  setHandler(stopSignal, ({ attempt, graceMs }) => {
    if (graceMs !== undefined) inbox.stopGraceMs = Math.min(inbox.stopGraceMs ?? graceMs, graceMs);
    inbox.stop = Math.max(inbox.stop ?? 0, attempt);
  });
  return inbox;
}

/** A stop holds for the attempt that its row showed, and for every later one. */
export const stopAsked = (inbox: SessionInbox): boolean => inbox.stop !== null;
