import type { DueSignal } from '../store/store.js';
import type { ApiDeps } from './deps.js';

type Parts = Pick<ApiDeps, 'store' | 'door' | 'log'>;

/**
 * Marks the group dirty and, where that is the caller's part, wakes its planner. Temporal away is no failure: the flag
 * stands in the ledger, and the group's slow timer and the sweeper look at it.
 */
export async function kick({ store, door, log }: Parts, group: string, onlyIfWaiting = false): Promise<void> {
  if (!(await store.planning.markDirty(group, onlyIfWaiting))) return;
  door.kickGroup(group).catch((error: unknown) => log.warn({ err: error, group }, 'a kick was not delivered'));
}

/** Delivers signals that rows call for, without waiting. One that is lost is sent again by the sweeper. */
export function deliver({ door, log }: Pick<Parts, 'door' | 'log'>, signals: readonly (DueSignal | null)[]): void {
  for (const due of signals) {
    if (due === null) continue;
    door.signalSession(due).catch((error: unknown) => log.warn({ err: error, due }, 'a signal was not delivered'));
  }
}

/** Without waiting; a kick that is lost is made up for by the deployment's own net. Null is no deployment. */
export function kickDeployments({ door, log }: Pick<Parts, 'door' | 'log'>, ids: readonly (string | null)[]): void {
  for (const id of new Set(ids)) {
    if (id === null) continue;
    door
      .kickDeployment(id)
      .catch((error: unknown) => log.warn({ err: error, deployment: id }, 'a kick was not delivered'));
  }
}
