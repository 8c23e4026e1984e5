import type { ControlDependencies } from './dependencies.js';
import { kickPool, signalModels } from './signal-models.js';

/**
 * The frequent part: pools whose kick and claims whose signal was lost between a commit and its delivery. What they wait for
 * stands in their rows, so a signal too many does nothing.
 */
export async function sweepModelSignals(dependencies: ControlDependencies, olderThanMs: number): Promise<number> {
  const { pools, claims } = await dependencies.store.models.due(olderThanMs);
  for (const pool of pools) await kickPool(dependencies, pool);
  await signalModels(dependencies, claims);
  dependencies.count('sweeper_models', pools.length + claims.length);
  return pools.length + claims.length;
}

/**
 * The slow part: histories are trimmed; each pool has its workflow, and each claim. One that was ended from outside is started again and reads the
 * ledger; one that has no row finds that out itself, and ends.
 */
export async function sweepModelWorkflows(dependencies: ControlDependencies): Promise<void> {
  const { store, door } = dependencies;
  dependencies.count('sweeper_model_events', await store.models.trimEvents());
  const { pools, claims } = await store.models.open();
  for (const pool of pools) await door.ensurePool(pool);
  if (claims.length === 0) return;
  const open = new Set<string>();
  for await (const claimId of door.openModelIds()) open.add(claimId);
  await signalModels(
    dependencies,
    claims.filter((claimId) => !open.has(claimId)),
  );
}
