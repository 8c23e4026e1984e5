import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import type { Logger } from '../platform/log.js';
import type { Seal } from '../platform/seal.js';
import type { TokenSigner } from '../platform/tokens.js';
import type { Store } from '../store/store.js';
import type { TemporalDoor } from '../temporal/door.js';
import { createAgentPort } from './agent-port.js';
import { measureBudgets } from './budget-metrics.js';
import { createApi } from './create-api.js';
import { measureDeployments } from './deployment-metrics.js';
import type { ApiOptions } from './deps.js';
import { createEventFeed } from './event-feed.js';
import { createFolderBytes } from './folder-bytes.js';
import { measureLedger } from './ledger-metrics.js';
import { measureModels } from './model-metrics.js';
import { startPurges } from './purge-folders.js';

export const DEFAULT_OPTIONS = {
  gatewayUrl: 'http://127.0.0.1:8084',
  appsUrl: 'http://apps.localhost:8084',
  admissionWaitMs: 5_000,
  requestsPerMinuteMax: 60_000,
  purgeEveryMs: 60_000,
  checkAnswers: false,
} as const;

export interface ApiParts {
  readonly store: Store;
  readonly door: TemporalDoor;
  readonly seal: Seal;
  readonly signer: TokenSigner;
  readonly log: Logger;
  readonly registry: Registry;
  readonly options: ApiOptions;
}

/** The API with the clients it needs; closing it closes those, and leaves store and door to whoever made them. */
export async function startApi(parts: ApiParts): Promise<FastifyInstance> {
  const { store, log, signer, registry, options } = parts;
  const agents = createAgentPort(signer);
  const folderBytes = createFolderBytes(signer, options.storageUrl);
  const feed = createEventFeed(store.events, log);
  measureLedger(registry, store.control);
  measureBudgets(registry, store);
  measureModels(registry, store.models);
  measureDeployments(registry, store.deployments);
  const purges = startPurges({ store, folderBytes, log }, options.purgeEveryMs);
  const app = await createApi({ ...parts, agents, folderBytes, feed });
  app.addHook('preClose', async () => feed.close());
  app.addHook('onClose', async () => {
    await Promise.all([agents.close(), folderBytes.close(), purges.close()]);
  });
  return app;
}
