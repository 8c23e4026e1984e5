import type { ControlDependencies } from './dependencies.js';

type Parts = Pick<ControlDependencies, 'door' | 'log' | 'count'>;

/** So many signals are on their way at once. */
const SLICE = 50;

/** Tells claims that they have orders due. One that is lost is sent again by the sweeper, from the row. */
export async function signalModels({ door, log, count }: Parts, claims: readonly string[]): Promise<void> {
  for (let at = 0; at < claims.length; at += SLICE) {
    await Promise.all(
      claims
        .slice(at, at + SLICE)
        .map((claimId) =>
          door
            .signalModel(claimId)
            .catch((error: unknown) => log.warn({ err: error, claimId }, 'a claim was not told of its order')),
        ),
    );
  }
  count('model_signals', claims.length);
}

/** One that is lost is made up for by the pool's own net and by the sweeper. */
export async function kickPool({ door, log }: Pick<Parts, 'door' | 'log'>, pool: string): Promise<void> {
  await door.kickPool(pool).catch((error: unknown) => log.warn({ err: error, pool }, 'a pool was not kicked'));
}
