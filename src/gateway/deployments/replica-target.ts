import type { SessionId } from '../../contract/index.js';
import type { DeploymentRoute } from '../../store/deployment-store.js';
import { Target, type TargetPlace } from '../models/target.js';
import type { TrafficCounts } from './traffic-counts.js';

export type ReplicaPlace = DeploymentRoute['targets'][number];

/** One replica, and what goes to it: told of to the deployment's counts. */
export class ReplicaTarget extends Target {
  readonly sessionId: SessionId;
  revision: number;
  /** The last choice. */
  isDegraded: boolean;
  readonly #counts: TrafficCounts;

  constructor(
    { sessionId, revision, isDegraded, ...rest }: ReplicaPlace,
    apiKey: string | null,
    counts: TrafficCounts,
  ) {
    super(placeOf({ sessionId, revision, isDegraded, ...rest }), apiKey);
    this.sessionId = sessionId;
    this.revision = revision;
    this.isDegraded = isDegraded;
    this.#counts = counts;
  }

  override connected(): void {
    super.connected();
    this.#counts.sent();
  }

  override end(hasFailed: boolean): void {
    super.end(hasFailed);
    this.#counts.over(this, hasFailed);
  }
}

/** A session that was placed anew is another target. */
export const placeOf = ({ sessionId, attempt, host, port, sealedApiKey }: ReplicaPlace): TargetPlace => ({
  instanceId: `${sessionId}/${attempt}`,
  ...{ host, port, sealedApiKey },
});
