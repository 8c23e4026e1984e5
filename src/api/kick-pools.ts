import type { ApiDeps } from './deps.js';

type Parts = Pick<ApiDeps, 'door' | 'log'>;

/** Wakes the planners of pools after a commit. One that is lost is made up for by the pool's own net of 10 s. */
export function kickPools({ door, log }: Parts, pools: readonly string[]): void {
  for (const pool of new Set(pools)) {
    door.kickPool(pool).catch((error: unknown) => log.warn({ err: error, pool }, 'a kick was not delivered'));
  }
}

/** Tells the workflows of claims that their rows have changed. One that is lost is sent again by the sweeper. */
export function signalModels({ door, log }: Parts, claims: readonly string[]): void {
  for (const claim of new Set(claims)) {
    door.signalModel(claim).catch((error: unknown) => log.warn({ err: error, claim }, 'a signal was not delivered'));
  }
}
