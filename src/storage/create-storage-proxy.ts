import type { FastifyInstance } from 'fastify';
import type { JSONWebKeySet } from 'jose';
import type { Registry } from 'prom-client';
import { measureRequests } from '../api/measure-requests.js';
import type { Logger } from '../platform/log.js';
import { createTokenVerifier } from '../platform/tokens.js';
import { addControlRoutes } from './control-routes.js';
import { addFolderRoutes } from './folder-routes.js';
import { openStorageContext, type Volumes } from './storage-context.js';
import { storageServer } from './storage-server.js';
import { addTusRoutes } from './tus-routes.js';

const SWEEP_MS = 600_000;

export interface StorageDeps {
  /** Name → directory on this machine. One proxy serves a volume. */
  readonly volumes: Volumes;
  readonly verifyKeys: JSONWebKeySet;
  readonly log: Logger;
  readonly registry: Registry;
}

/** Bytes of folders, under the API's signed tokens. */
export async function createStorageProxy({
  volumes,
  verifyKeys,
  log,
  registry,
}: StorageDeps): Promise<FastifyInstance> {
  const context = await openStorageContext(volumes, createTokenVerifier(verifyKeys, 'storage'));
  const app = storageServer(log);
  measureRequests(app, registry);
  addFolderRoutes(app, context);
  addTusRoutes(app, context);
  addControlRoutes(app, context);
  app.get('/healthz', async () => ({ ok: true }));
  const sweeps = setInterval(() => {
    for (const uploads of context.tus.values()) {
      uploads.sweep().catch((error: unknown) => log.warn({ err: error }, 'old uploads are not removed yet'));
    }
  }, SWEEP_MS).unref();
  app.addHook('onClose', async () => clearInterval(sweeps));
  return app;
}
