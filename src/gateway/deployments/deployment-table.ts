import { timingSafeEqual } from 'node:crypto';
import type { Logger } from '../../platform/log.js';
import type { DeploymentRoute, DeploymentStore } from '../../store/deployment-store.js';
import { openedKey } from '../models/opened-key.js';
import { Retired } from '../models/retired.js';
import { openRouteReads } from '../models/route-reads.js';
import { DeploymentEntry } from './deployment-entry.js';
import { placeOf, type ReplicaPlace, ReplicaTarget } from './replica-target.js';

export interface DeploymentTableDeps {
  readonly deployments: Pick<DeploymentStore, 'routes' | 'route'>;
  /** Opens what was sealed to a replica's session. */
  readonly openApiKey: (sealed: Buffer, sessionId: string) => string;
  readonly log: Logger;
  readonly everyMs: number;
  /** A replica off the route has nothing under way any more. */
  readonly emptied: () => void;
}

/** Deployments in memory. While Postgres is away what was last known stands, but for tokens whose time is over. */
export interface DeploymentTable {
  get(name: string): DeploymentEntry | undefined;
  byModel(modelName: string): DeploymentEntry | undefined;
  entries(): IterableIterator<DeploymentEntry>;
  /** Whose token it is, by its hash; null: of none, or its time is over. */
  tokenOf(hash: Buffer): KnownToken | null;
  changed(deploymentId: string): void;
  readAll(): void;
  close(): void;
}

export interface KnownToken {
  readonly id: string;
  readonly entry: DeploymentEntry;
}

/** The longest drain that a template may ask for, and some: what then still goes to a replica goes to one that is lost. */
const DRAINED_MS = 3_700_000;

/** Resolves when it was read once; throws where that cannot be done. */
export async function openDeploymentTable(deps: DeploymentTableDeps): Promise<DeploymentTable> {
  const { deployments, log, everyMs } = deps;
  const contents = new Contents(deps);
  const reads = await openRouteReads<DeploymentRoute>({
    all: () => deployments.routes(),
    one: (deploymentId) => deployments.route(deploymentId),
    idOf: ({ deploymentId }) => deploymentId,
    take: (deploymentId, route) => contents.take(deploymentId, route),
    failed: (error) => log.warn({ err: error }, 'the deployments could not be read; the last routes stand'),
    everyMs,
  });
  return {
    get: (name) => contents.byName.get(name),
    byModel: (modelName) => contents.byModel.get(modelName),
    entries: () => contents.byId.values(),
    tokenOf: (hash) => contents.tokenOf(hash),
    changed: (deploymentId) => reads.changed(deploymentId),
    readAll: () => reads.readAll(),
    close() {
      reads.close();
      contents.close();
    },
  };
}

interface Token extends KnownToken {
  readonly hash: Buffer;
  readonly expiresMs: number | null;
}

class Contents {
  readonly byId = new Map<string, DeploymentEntry>();
  readonly byName = new Map<string, DeploymentEntry>();
  readonly byModel = new Map<string, DeploymentEntry>();
  readonly #tokens = new Map<string, Token>();
  readonly #retired = new Retired<ReplicaTarget>(DRAINED_MS);
  readonly #deps: Pick<DeploymentTableDeps, 'openApiKey' | 'log' | 'emptied'>;

  constructor(deps: Pick<DeploymentTableDeps, 'openApiKey' | 'log' | 'emptied'>) {
    this.#deps = deps;
  }

  take(deploymentId: string, route: DeploymentRoute | null): void {
    const known = this.byId.get(deploymentId);
    if (known !== undefined) this.#unname(known);
    if (route === null) return this.#remove(known);
    const entry = known ?? new DeploymentEntry(route, this.#deps.emptied);
    this.byId.set(deploymentId, entry);
    this.#retired.add(entry.takeDeployment(route, (place) => this.#make(place, entry)));
    this.byName.set(route.name, entry);
    if (route.modelName !== null) this.byModel.set(route.modelName, entry);
    for (const { id, hash, expiresMs } of route.tokens)
      this.#tokens.set(hash.toString('hex'), { ...{ id, hash, expiresMs, entry } });
  }

  /** Found by its hash, which tells nothing of the token; and compared in constant time, so that no timing does either. */
  tokenOf(hash: Buffer): KnownToken | null {
    const token = this.#tokens.get(hash.toString('hex'));
    if (token === undefined || !timingSafeEqual(token.hash, hash)) return null;
    return token.expiresMs === null || token.expiresMs > Date.now() ? token : null;
  }

  close(): void {
    for (const { replicas } of this.byId.values()) for (const replica of replicas) replica.destroy();
    this.#retired.close();
  }

  /** A name may be another deployment's by now. */
  #unname(entry: DeploymentEntry): void {
    const { name, modelName, tokens } = entry.deployment;
    if (this.byName.get(name) === entry) this.byName.delete(name);
    if (modelName !== null && this.byModel.get(modelName) === entry) this.byModel.delete(modelName);
    for (const { hash } of tokens) this.#tokens.delete(hash.toString('hex'));
  }

  #remove(entry: DeploymentEntry | undefined): void {
    if (entry === undefined) return;
    const { deployment } = entry;
    const gone = { ...deployment, state: 'ENDED' as const, targets: [], tokens: [] };
    this.#retired.add(entry.takeDeployment(gone, (place) => this.#make(place, entry)));
    this.byId.delete(deployment.deploymentId);
  }

  #make(place: ReplicaPlace, { counts }: DeploymentEntry): ReplicaTarget {
    const { sessionId, sealedApiKey } = place;
    const revived = this.#retired.revive(placeOf(place));
    return revived ?? new ReplicaTarget(place, openedKey({ instanceId: sessionId, sealedApiKey }, this.#deps), counts);
  }
}
