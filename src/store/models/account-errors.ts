import type { PoolSnapshot } from '../../contract/index.js';

type Claim = PoolSnapshot['claims'][number];
type Instance = PoolSnapshot['instances'][number];

/** What it takes up now, at least its floor; a sleeper that released its reservation what is left of it. Wakes that were asked for do not count. */
function heldBytes(instance: Instance, claim: Claim, releases: boolean): number {
  const { phase, residueBytes, kvUsedBytes } = instance;
  const awake = claim.footprintBytes + Math.max(claim.kvFloorBytes, kvUsedBytes);
  if (phase !== 'SLEEPING' || residueBytes === null) return awake;
  return releases ? residueBytes : Math.max(awake, residueBytes);
}

/** GPUs on which more is held than there is: no plan does that, so something on the node does. */
export function accountErrors({ gpus, claims, instances, policy }: PoolSnapshot): readonly string[] {
  const claimOf = new Map(claims.map((claim) => [claim.id, claim]));
  return gpus.flatMap(({ name, usableBytes }) => {
    const held = instances
      .filter((instance) => instance.gpus.includes(name))
      .reduce((sum, instance) => {
        const claim = claimOf.get(instance.claimId);
        return claim === undefined ? sum : sum + heldBytes(instance, claim, policy.noWakeReserveWhileAsleep);
      }, 0);
    if (usableBytes === null || held <= usableBytes) return [];
    return [`account in error: ${name} holds ${held} bytes of ${usableBytes}`];
  });
}
