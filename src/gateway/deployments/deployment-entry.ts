import type { DeploymentRoute } from '../../store/deployment-store.js';
import type { ModelRoute } from '../../store/model-store.js';
import { ModelEntry } from '../models/model-entry.js';
import { ReplicaChoice } from './replica-choice.js';
import { placeOf, type ReplicaPlace, type ReplicaTarget } from './replica-target.js';
import { TrafficCounts } from './traffic-counts.js';

/** A deployment in the gateway's memory; to the model gateway it is a model among others. */
export class DeploymentEntry extends ModelEntry {
  deployment: DeploymentRoute;
  replicas: readonly ReplicaTarget[] = [];
  readonly counts: TrafficCounts;
  #choice = new ReplicaChoice([], []);
  #shape = '';

  constructor(deployment: DeploymentRoute, emptied: () => void) {
    super(modelRouteOf(deployment));
    this.deployment = deployment;
    this.counts = new TrafficCounts(emptied);
  }

  /** Takes what was read anew; answers the replicas that are no longer on the route. `make` finds one that was before. */
  takeDeployment(deployment: DeploymentRoute, make: (place: ReplicaPlace) => ReplicaTarget): readonly ReplicaTarget[] {
    this.deployment = deployment;
    this.route = modelRouteOf(deployment);
    const shape = shapeOf(deployment);
    if (shape === this.#shape) return [];
    this.#shape = shape;
    const before = this.replicas;
    this.replicas = deployment.targets.map((place) => {
      const replica = before.find((one) => one.isAt(placeOf(place))) ?? make(place);
      replica.revision = place.revision;
      replica.isDegraded = place.isDegraded;
      this.counts.draining.delete(replica);
      return replica;
    });
    this.targets = this.replicas;
    this.#choice = new ReplicaChoice(this.replicas, deployment.weights);
    const left = before.filter((replica) => !this.replicas.includes(replica));
    for (const replica of left) if (replica.inFlight > 0) this.counts.draining.add(replica);
    return left;
  }

  override missed(): void {
    this.counts.refused();
  }

  override get isServing(): boolean {
    return this.replicas.length > 0;
  }

  override pick(nowMs: number): ReplicaTarget | null {
    return this.#choice.pick(nowMs);
  }

  /** Of replicas on the route, and of those that left it. */
  get inFlight(): readonly { readonly sessionId: ReplicaTarget['sessionId']; readonly count: number }[] {
    const busy = [...this.replicas, ...this.counts.draining].filter(({ inFlight }) => inFlight > 0);
    return busy.map(({ sessionId, inFlight }) => ({ sessionId, count: inFlight }));
  }

  get refused(): readonly ReplicaTarget['sessionId'][] {
    return this.replicas.filter(({ isRefusing }) => isRefusing).map(({ sessionId }) => sessionId);
  }
}

const shapeOf = ({ targets, weights }: DeploymentRoute): string => JSON.stringify([targets, weights]);

/** As a model claim's route: what a client is told where nothing serves is the same. */
function modelRouteOf(deployment: DeploymentRoute): ModelRoute {
  const { deploymentId, name, project, modelName, message, sinceMs, startSeconds, targets } = deployment;
  return {
    ...{ claimId: deploymentId, modelName: modelName ?? name, pool: '', project, projects: [project], hold: null },
    serving: targets.length > 0 ? 'Active' : SERVING_OF[deployment.state],
    reason: message,
    phaseSinceMs: sinceMs,
    ...{ startSeconds, wakeSeconds: startSeconds },
    targets: [],
  };
}

/** IDLE: at zero, and a request wakes it where its rules allow that. */
const SERVING_OF: Readonly<Record<DeploymentRoute['state'], string>> = {
  DEPLOYING: 'EngineStarting',
  READY: 'EngineStarting',
  DEGRADED: 'EngineStarting',
  UNAVAILABLE: 'EngineFailed',
  IDLE: 'EngineSleeping',
  ENDING: 'EngineFailed',
  ENDED: 'EngineFailed',
};
