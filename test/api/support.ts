import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { exportJWK, generateKeyPair } from 'jose';
import { pino } from 'pino';
import { admit } from '../../activities/control/admission.js';
import { DEFAULT_OPTIONS, startApi } from '../../src/api/start-api.js';
import type { CreateSessionInput, KernelId, Role } from '../../src/contract/index.js';
import { newApiKeyId, newDomainId, newProjectId, newSessionId, newUserId } from '../../src/platform/ids.js';
import type { Logger } from '../../src/platform/log.js';
import { createRegistry } from '../../src/platform/metrics.js';
import { createSeal, type Seal } from '../../src/platform/seal.js';
import { createTokenSigner, hashSecret, newApiKey, newNodeToken, shownPrefix } from '../../src/platform/tokens.js';
import { createStorageProxy } from '../../src/storage/create-storage-proxy.js';
import { createStore } from '../../src/store/create-store.js';
import type { DueSignal, Store } from '../../src/store/store.js';
import type { TemporalDoor } from '../../src/temporal/door.js';
import { createDatabase } from '../support/postgres.js';
import { sealing } from '../support/sealing.js';

export const log = pino({ level: process.env['BERTH_TEST_LOG'] ?? 'silent' });

export interface TestDoor extends TemporalDoor {
  readonly signals: DueSignal[];
  readonly kicks: string[];
  /** Node and images of each order. */
  readonly warmed: string[];
}

/** Admission as the control worker runs it, on the real store, without the workflow around it. */
export function directDoor(store: Store): TestDoor {
  const signals: DueSignal[] = [];
  const kicks: string[] = [];
  const warmed: string[] = [];
  const door: TestDoor = {
    signals,
    kicks,
    warmed,
    async submitSession(sessionId) {
      const newKernelId = () => newSessionId().replace('ses_', 'krn_') as KernelId;
      const answer = await admit({ store, door, newKernelId, ...sealing, log, count: () => undefined }, sessionId);
      return answer.outcome === 'refused' ? answer : { outcome: 'admitted' };
    },
    takeOverSession: async () => undefined,
    kickGroup: async (group) => void kicks.push(group),
    signalSession: async (signal) => signals.push(signal) > 0,
    ensureNode: async () => undefined,
    ensureGroup: async () => undefined,
    kickPool: async (pool) => void kicks.push(`pool/${pool}`),
    ensurePool: async () => undefined,
    signalModel: async (claimId) => void kicks.push(`model/${claimId}`),
    openModelIds: async function* none() {},
    kickDeployment: async (id) => void kicks.push(`deployment/${id}`),
    openDeploymentIds: async function* none() {},
    warmNode: async (node, images) => void warmed.push([node, ...images].join(' ')),
    openSessionIds: async function* none() {},
    sessionWorkflowState: async () => 'open',
    ping: async () => undefined,
    close: async () => undefined,
  };
  return door;
}

export async function testKeys() {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const signer = await createTokenSigner({ ...(await exportJWK(privateKey)), kid: 'test' });
  return { signer, verifyKeys: { keys: [{ ...(await exportJWK(publicKey)), kid: 'test', alg: 'ES256' }] } };
}

export interface TestApi {
  readonly app: FastifyInstance;
  readonly store: Store;
  readonly door: TestDoor;
  readonly adminKey: string;
  readonly nodeToken: string;
  readonly volumeDir: string;
  readonly seal: Seal;
  readonly databaseUrl: string;
  /** Of all the tokens that it signs. */
  readonly keys: Awaited<ReturnType<typeof testKeys>>;
  call(
    key: string | null,
    method: string,
    url: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<LightMyRequestResponse>;
  /** A user of a domain, with a key; domain, project and membership are made when they are not there. */
  user(name: string, options?: { domain?: string; role?: Role; scope?: 'read' | 'write' | 'models' }): Promise<string>;
  listen(): Promise<string>;
  close(): Promise<void>;
}

export interface TestApiOptions {
  readonly door?: (store: Store) => TemporalDoor;
  readonly requestsPerMinuteMax?: number;
  readonly purgeEveryMs?: number;
  /** Where its log lines go; nowhere when unset. */
  readonly log?: Logger;
}

export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const databaseUrl = await createDatabase();
  const store = createStore({ connectionString: databaseUrl });
  await store.migrate();
  const admin = newApiKey();
  const node = newNodeToken();
  await store.tenancy.bootstrap({
    ids: { domain: newDomainId(), project: newProjectId(), user: newUserId(), key: newApiKeyId() },
    adminKeyHash: admin.hash,
    adminKeyPrefix: admin.shown,
    group: 'default',
    nodes: [{ name: 'node-1', tokenHash: node.hash }],
    volumes: ['main'],
  });
  const { signer, verifyKeys } = await testKeys();
  const volumeDir = mkdtempSync(join(tmpdir(), 'berth-test-volume-'));
  const storage = await createStorageProxy({
    volumes: { main: volumeDir },
    verifyKeys,
    log,
    registry: createRegistry('storage'),
  });
  const storageUrl = await storage.listen({ host: '127.0.0.1', port: 0 });
  const direct = directDoor(store);
  const door = options.door?.(store) ?? direct;
  const { requestsPerMinuteMax = 1_000_000, purgeEveryMs = DEFAULT_OPTIONS.purgeEveryMs } = options;
  const seal = createSeal(randomBytes(32));
  const app = await startApi({
    store,
    door,
    seal,
    signer,
    log: options.log ?? log,
    registry: createRegistry('api'),
    options: {
      ...DEFAULT_OPTIONS,
      version: 'test',
      volumes: ['main'],
      storageUrl,
      requestsPerMinuteMax,
      purgeEveryMs,
      checkAnswers: true,
    },
  });
  await app.ready();

  const call: TestApi['call'] = (key, method, url, body, headers = {}) =>
    app.inject({
      method: method as NonNullable<InjectOptions['method']>,
      url,
      headers: { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers },
      ...(body === undefined ? {} : { payload: body as object }),
    });

  return {
    app,
    store,
    door: direct,
    adminKey: admin.secret,
    nodeToken: node.secret,
    volumeDir,
    seal,
    databaseUrl,
    keys: { signer, verifyKeys },
    call,
    async user(name, { domain = 'default', role = 'user', scope = 'write' } = {}) {
      const project = `${domain}-work`;
      await store.tenancy.createDomain({ id: newDomainId(), name: domain });
      await store.tenancy.createProject({ id: newProjectId(), name: project, domain });
      await store.tenancy.createUser({ id: newUserId(), name, domain, role, projects: [project] });
      const { secret } = newApiKey();
      const key = { id: newApiKeyId(), name: `k-${randomBytes(4).toString('hex')}`, user: name, scope };
      const made = await store.tenancy.createKey({
        ...key,
        hash: hashSecret(secret),
        prefix: shownPrefix(secret),
        expiresInDays: null,
      });
      if (typeof made === 'string') throw new Error(made);
      return secret;
    },
    listen: () => app.listen({ host: '127.0.0.1', port: 0 }),
    async close() {
      await app.close();
      await storage.close();
      await store.close();
      rmSync(volumeDir, { recursive: true, force: true });
    },
  };
}

export const GIB = 2 ** 30;

/** The smallest request that is taken. */
export const session = (more: Partial<CreateSessionInput> = {}): CreateSessionInput => ({
  image: 'busybox:1',
  kernels: [{ slots: { cpuMilli: 100, memoryBytes: GIB } }],
  ...more,
});

/** Makes the bootstrap's node READY: 4 CPU, 16 GiB and 4 simulated devices. */
export async function readyNode({ store }: TestApi, name = 'node-1'): Promise<void> {
  const devices = Array.from({ length: 4 }, (_, index) => ({
    id: `sim-${index}`,
    index,
    model: 'sim-24',
    memoryBytes: 24 * GIB,
    simulated: true,
    healthy: true,
    sharing: 'memory-limit' as const,
    parentId: null,
  }));
  await store.nodes.register(name, {
    architecture: 'amd64',
    capacity: { cpuMilli: 4000, memoryBytes: 16 * GIB },
    devices,
    agentUrl: 'http://127.0.0.1:9',
    address: '127.0.0.1',
    engineId: 'engine',
    agentVersion: 'test',
    images: ['busybox:1'],
  });
  await store.nodes.reconcile(name, { kernels: [], starting: true });
}
