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

/** Delivers signals that rows call for. One that fails is logged and sent again by a later pass or the sweeper. */
export async function deliver(
  { door, log, count }: Pick<ControlDependencies, 'door' | 'log' | 'count'>,
  signals: readonly DueSignal[],
): Promise<number> {
  const sent = await Promise.all(
    signals.map(async (signal) => {
      try {
        return await door.signalSession(signal);
      } catch (error) {
        log.warn({ err: error, sessionId: signal.sessionId, kind: signal.kind }, 'a signal was not delivered');
        return false;
      }
    }),
  );
  const delivered = sent.filter(Boolean).length;
  count('signals_delivered', delivered);
  return delivered;
}
