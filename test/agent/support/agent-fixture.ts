import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { exportJWK, generateKeyPair } from 'jose';
import { createNodeActivities } from '../../../activities/node/kernels.js';
import type { NodeActivities, RemoveKernels, StartKernels } from '../../../activities/node/node-activities.js';
import { type Agent, type AgentSettings, createAgent } from '../../../src/agent/agent.js';
import { LABEL } from '../../../src/agent/kernel-container.js';
import type { LaunchOrder } from '../../../src/contract/index.js';
import type { DeviceProvider } from '../../../src/devices/device-provider.js';
import { createSimulatedProvider } from '../../../src/devices/simulated.js';
import { connectDocker } from '../../../src/docker/connect.js';
import { type Containers, createContainers } from '../../../src/docker/containers.js';
import { createLogger } from '../../../src/platform/log.js';
import { createRegistry } from '../../../src/platform/metrics.js';
import { createTokenSigner, type TokenSigner } from '../../../src/platform/tokens.js';
import { ensureTestDocker, removeContainers, uniqueLabel } from '../../support/docker.js';
import { freePort } from '../../support/process.js';
import { type ApiStandIn, startApiStandIn } from './api-stand-in.js';
import { launchOrder } from './launch-order.js';

/** One node of a test alone: a name that nobody else uses, its API, its folders, and agents started on it. */
export interface TestNode {
  readonly node: string;
  readonly api: ApiStandIn;
  readonly engine: Containers;
  readonly busybox: string;
  readonly stateDir: string;
  readonly volumeDir: string;
  readonly signer: TokenSigner;
  /** Starts an agent as a process would; `settings` and `wrap` change what a test is about. */
  readonly startAgent: (options?: AgentOptions) => Promise<TestAgent>;
  /** An order that the API gives out, of a session of one kernel that sleeps. */
  readonly order: (changes?: Partial<LaunchOrder>) => LaunchOrder;
  readonly close: () => Promise<void>;
}

export interface AgentOptions {
  readonly settings?: Partial<AgentSettings>;
  readonly wrap?: (engine: Containers) => Containers;
  readonly devices?: DeviceProvider;
}

export interface TestAgent {
  readonly agent: Agent;
  readonly activities: NodeActivities;
  /** Runs an activity as Temporal would. */
  readonly environment: MockActivityEnvironment;
  readonly start: (orders: readonly LaunchOrder[]) => Promise<void>;
  readonly remove: (orders: readonly LaunchOrder[], graceMs?: number) => Promise<void>;
  /** As a process that ends: containers go on. */
  readonly stop: () => Promise<void>;
}

export { newSessionId } from '../../../src/platform/ids.js';
export { newKernelId } from './launch-order.js';

export async function startTestNode(): Promise<TestNode> {
  const { busybox } = await ensureTestDocker();
  const node = uniqueLabel('agent-test');
  const api = await startApiStandIn(node);
  const stateDir = mkdtempSync(join(tmpdir(), 'berth-agent-state-'));
  const volumeDir = mkdtempSync(join(tmpdir(), 'berth-agent-volume-'));
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const verifyKeyFile = join(stateDir, 'jwks.json');
  writeFileSync(verifyKeyFile, JSON.stringify({ keys: [await exportJWK(publicKey)] }));
  const signer = await createTokenSigner(await exportJWK(privateKey));
  const engine = createContainers({ docker: connectDocker() });
  const firstPort = await freePort();
  const agents: TestAgent[] = [];

  const base: AgentSettings = {
    node,
    token: api.token,
    apiUrl: api.url,
    agentUrl: 'http://127.0.0.1:1',
    agentVersion: 'test',
    port: 0,
    stateDir,
    portRange: { first: firstPort, last: firstPort + 20 },
    volumes: { main: volumeDir },
    verifyKeyFile,
  };

  return {
    node,
    api,
    engine,
    busybox,
    stateDir,
    volumeDir,
    signer,
    order: (changes = {}) => {
      const order = launchOrder(busybox, changes);
      api.orders.set(`${order.kernelId}-${order.attempt}`, order);
      return order;
    },
    startAgent: async (options = {}) => {
      const { devices = createSimulatedProvider([{ model: 'T4', memoryBytes: 2 ** 30, count: 2 }]) } = options;
      const containers = options.wrap?.(engine) ?? engine;
      const agent = await launch({ ...base, ...options.settings }, { containers, devices });
      agents.push(agent);
      return agent;
    },
    close: async () => {
      const ends = await Promise.allSettled(agents.map((agent) => agent.stop()));
      await removeContainers(`${LABEL.node}=${node}`);
      for (const { name } of await engine.listNetworks({ [LABEL.node]: node })) await engine.removeNetwork(name);
      await api.close();
      for (const dir of [stateDir, volumeDir]) rmSync(dir, { recursive: true, force: true });
      for (const end of ends) if (end.status === 'rejected') throw end.reason; // only after all is clean
    },
  };
}

async function launch(
  settings: AgentSettings,
  adapters: { readonly containers: Containers; readonly devices: DeviceProvider },
): Promise<TestAgent> {
  const agent = await createAgent(settings, {
    ...adapters,
    registry: createRegistry('test'),
    log: createLogger({ process: 'test', level: process.env['AGENT_TEST_LOG'] ?? 'silent' }),
  });
  const ending = new AbortController();
  const loops = agent.run(ending.signal);
  await agent.prepare(ending.signal);
  const activities = createNodeActivities({ ...agent, reachesTemporal: async () => undefined, ending: ending.signal });
  const environment = new MockActivityEnvironment(undefined, { logger: new DefaultLogger('ERROR') });
  return {
    agent,
    activities,
    environment,
    start: (orders) => environment.run((input: StartKernels) => activities.startKernels(input), startInput(orders)),
    remove: (orders, graceMs = 0) =>
      environment.run((input: RemoveKernels) => activities.removeKernels(input), removeInput(orders, graceMs)),
    stop: async () => {
      ending.abort();
      await loops;
      await agent.close();
    },
  };
}

export function startInput(orders: readonly LaunchOrder[]) {
  const { sessionId = '', attempt = 1 } = orders[0] ?? {};
  return { sessionId, attempt, kernels: orders.map(({ kernelId, epoch }) => ({ kernelId, epoch })) };
}

export function removeInput(orders: readonly LaunchOrder[], graceMs: number) {
  const { sessionId = '', attempt = 1 } = orders[0] ?? {};
  return { sessionId, attempt, kernelIds: orders.map(({ kernelId }) => kernelId), graceMs };
}
