import type { DueSignal } from '../../src/store/store.js';
import type { ControlDependencies } from './dependencies.js';

/**
 * Wakes the group's planner when this call turned its dirty flag on: one kick for a thousand events. A kick that fails is
 * retried with the activity; one that dies is sent by anyone who finds the flag old, and by the slow net.
 */
export async function kickGroup(
  { store, door }: Pick<ControlDependencies, 'store' | 'door'>,
  group: string,
  onlyIfWaiting = false,
): Promise<void> {
  if (await store.planning.markDirty(group, onlyIfWaiting)) await door.kickGroup(group);
}

/** So many signals are on their way at once; Temporal takes some two hundred a second. */
const SLICE = 50;

export interface Delivered {
  readonly delivered: number;
  /** Not sent for want of time: their rows call for them still, and a later pass or the sweeper sends them. */
  readonly left: number;
}

/**
 * Delivers signals that rows call for, in slices, for `withinMs` at most. One that fails is logged and sent again by a later
 * pass or the sweeper.
 */
export async function deliver(
  dependencies: Pick<ControlDependencies, 'door' | 'log' | 'count'>,
  signals: readonly DueSignal[],
  withinMs = Number.POSITIVE_INFINITY,
): Promise<Delivered> {
  const until = performance.now() + withinMs;
  let delivered = 0;
  let at = 0;
  for (; at < signals.length && performance.now() < until; at += SLICE) {
    const sent = await Promise.all(signals.slice(at, at + SLICE).map((signal) => deliverOne(dependencies, signal)));
    delivered += sent.filter(Boolean).length;
  }
  dependencies.count('signals_delivered', delivered);
  return { delivered, left: Math.max(0, signals.length - at) };
}

async function deliverOne(
  { door, log }: Pick<ControlDependencies, 'door' | 'log'>,
  signal: DueSignal,
): Promise<boolean> {
  try {
    return await door.signalSession(signal);
  } catch (error) {
    log.warn({ err: error, sessionId: signal.sessionId, kind: signal.kind }, 'a signal was not delivered');
    return false;
  }
}
