import type { DeploymentTraffic } from '../../store/deployment-store.js';
import type { ReplicaTarget } from './replica-target.js';

/** What one deployment got since it was told last. */
export class TrafficCounts {
  requests = 0;
  failures = 0;
  queued = 0;
  lastRequestMs: number | null = null;
  /** Something differs from what was told last. */
  hasChanged = false;
  /** Replicas off the route with something under way to them. */
  readonly draining = new Set<ReplicaTarget>();
  readonly #emptied: () => void;

  /** `emptied`: a replica off the route has nothing under way any more. */
  constructor(emptied: () => void) {
    this.#emptied = emptied;
  }

  sent(): void {
    this.requests += 1;
    this.#asked();
  }

  /** Answered that nothing serves. */
  refused(): void {
    this.queued += 1;
    this.#asked();
  }

  over(target: ReplicaTarget, hasFailed: boolean): void {
    if (hasFailed) this.failures += 1;
    this.hasChanged = true;
    if (target.inFlight === 0 && this.draining.delete(target)) this.#emptied();
  }

  /** Empties it. */
  take(): Pick<DeploymentTraffic, 'requests' | 'failures' | 'queued' | 'lastRequestMs'> {
    const { requests, failures, queued, lastRequestMs } = this;
    Object.assign(this, { requests: 0, failures: 0, queued: 0, hasChanged: false });
    return { requests, failures, queued, lastRequestMs };
  }

  /** What could not be told is told with the next report. */
  putBack({ requests, failures, queued }: Pick<DeploymentTraffic, 'requests' | 'failures' | 'queued'>): void {
    this.requests += requests;
    this.failures += failures;
    this.queued = Math.max(this.queued, queued);
    this.hasChanged = true;
  }

  #asked(): void {
    this.lastRequestMs = Date.now();
    this.hasChanged = true;
  }
}
