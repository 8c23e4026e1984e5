import type { DeploymentRoute } from '../../store/deployment-store.js';
import { leastInFlight } from '../models/least-in-flight.js';
import type { ReplicaTarget } from './replica-target.js';

interface Group {
  readonly percent: number;
  readonly healthy: readonly ReplicaTarget[];
  readonly degraded: readonly ReplicaTarget[];
  /** Grows by its percentage at each request, and falls by the sum where it is chosen: shares hold over few requests, too. */
  credit: number;
}

/**
 * Which replica gets a request: first the revision, by weight among those that take connections; then the one with the least in
 * flight, a degraded one only where no healthy one takes connections. Without a weighted revision that does, all are looked at.
 */
export class ReplicaChoice {
  readonly #weighted: readonly Group[];
  readonly #all: Group;
  #next = 0;

  constructor(replicas: readonly ReplicaTarget[], weights: DeploymentRoute['weights']) {
    this.#all = groupOf(replicas, 100);
    this.#weighted = weights
      .filter(({ percent }) => percent > 0)
      .map(({ revision, percent }) =>
        groupOf(
          replicas.filter((replica) => replica.revision === revision),
          percent,
        ),
      );
  }

  pick(nowMs: number): ReplicaTarget | null {
    this.#next = (this.#next + 1) % Number.MAX_SAFE_INTEGER;
    const group = this.#group(nowMs) ?? this.#all;
    return leastInFlight(group.healthy, this.#next, nowMs) ?? leastInFlight(group.degraded, this.#next, nowMs);
  }

  #group(nowMs: number): Group | null {
    let [best, sum]: [Group | null, number] = [null, 0];
    for (const group of this.#weighted) {
      if (!takesAny(group.healthy, nowMs) && !takesAny(group.degraded, nowMs)) continue;
      group.credit += group.percent;
      sum += group.percent;
      if (best === null || group.credit > best.credit) best = group;
    }
    if (best !== null) best.credit -= sum;
    return best;
  }
}

const groupOf = (replicas: readonly ReplicaTarget[], percent: number): Group => ({
  percent,
  healthy: replicas.filter(({ isDegraded }) => !isDegraded),
  degraded: replicas.filter(({ isDegraded }) => isDegraded),
  credit: 0,
});

const takesAny = (replicas: readonly ReplicaTarget[], nowMs: number): boolean => {
  for (const replica of replicas) if (replica.isOpen(nowMs)) return true;
  return false;
};
