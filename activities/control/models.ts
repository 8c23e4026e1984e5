import type { ControlDependencies } from './dependencies.js';
import { memberWork } from './members.js';
import type { ModelActivities } from './model-activities.js';
import { poolTurn } from './pool-turn.js';
import { kickPool, signalModels } from './signal-models.js';

export function createModelActivities(dependencies: ControlDependencies): ModelActivities {
  const { store } = dependencies;
  return {
    poolTurn: (pool) => poolTurn(dependencies, pool),
    async recordLimits({ pool, memberSessionId, results }) {
      const { claims, again } = await store.models.recordLimits(pool, memberSessionId, results);
      await signalModels(dependencies, claims);
      return { again };
    },
    memberWork: (pool) => memberWork(dependencies, pool),
    claimLife: (claimId) => store.models.claimLife(claimId),
    async settleOrder({ pool, instanceId, seq, result }) {
      const { pool: changed } = await store.models.settleOrder(instanceId, seq, result);
      // Also when it changed nothing: the run before this one may have died between its commit and its kick.
      await kickPool(dependencies, changed ?? pool);
    },
  };
}
