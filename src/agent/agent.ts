import { join } from 'node:path';
import type { Registry } from 'prom-client';
import type { DeviceProvider } from '../devices/device-provider.js';
import type { Containers } from '../docker/containers.js';
import type { Logger } from '../platform/log.js';
import { createAgentMetrics } from './agent-metrics.js';
import { type AgentServer, startAgentServer } from './agent-server.js';
import { createTokenCheck } from './agent-token.js';
import { type AgentApi, createApiClient } from './api-client.js';
import { createExits } from './exits.js';
import { listKernels } from './inventory.js';
import { runKey } from './kernel-container.js';
import { createLogStore } from './log-store.js';
import { openMarks } from './marks.js';
import type { Volumes } from './mounts.js';
import { createNotices, type Notice } from './notice.js';
import { createOutbox } from './outbox.js';
import { createPorts, type PortRange } from './ports.js';
import { createProbes } from './probes.js';
import { createReconciler } from './reconcile.js';
import { type MachineSettings, registration } from './registration.js';
import { removeKernel, removeNetworkIfEmpty } from './remove-kernel.js';
import { pause, retry } from './retry.js';
import { type KernelBatch, type StartDeps, type StartProgress, startKernels } from './start-kernels.js';
import { createTurns } from './turns.js';
import { type WarmProgress, warmImages } from './warm-images.js';

export interface AgentSettings extends MachineSettings {
  readonly node: string;
  readonly token: string;
  readonly apiUrl: string;
  /** The agent's port; 0 takes a free one. */
  readonly port: number;
  readonly stateDir: string;
  readonly portRange: PortRange;
  readonly volumes: Volumes;
  /** `pipe` and `log` of the node's MPS control daemon are in it; its own usual place when unset. */
  readonly mpsDirectory?: string | undefined;
  readonly verifyKeyFile: string;
  /** How often the inventory is compared; a minute when unset. */
  readonly reconcileEveryMs?: number;
}

export interface AgentAdapters {
  readonly containers: Containers;
  readonly devices: DeviceProvider;
  readonly registry: Registry;
  readonly log: Logger;
  /** Only tests hand in another one. */
  readonly api?: AgentApi;
}

export interface KernelRemoval {
  readonly sessionId: string;
  readonly attempt: number;
  readonly kernelIds: readonly string[];
  readonly graceMs: number;
}

/** One node's agent: its loops, its port, and the hands that its activities use. It decides nothing. */
export interface Agent {
  readonly port: number;
  /** Reaches engine and API, registers, reconciles as starting; tries until it is so, or aborted. `run` must run. */
  readonly prepare: (signal: AbortSignal) => Promise<void>;
  /** Exits, health, reports, reconciliation and old logs, until aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly startKernels: (batch: KernelBatch, progress: StartProgress) => Promise<void>;
  readonly removeKernels: (removal: KernelRemoval, onPhase: (phase: string) => void) => Promise<void>;
  readonly notice: (notice: Notice) => Promise<void>;
  readonly warm: (order: { readonly images: readonly string[] }, progress: WarmProgress) => Promise<void>;
  readonly afterSilence: (signal: AbortSignal) => Promise<void>;
  readonly counts: () => Readonly<Record<string, number>>;
  /** Closes the port and the connections. Containers go on. */
  readonly close: () => Promise<void>;
}

const MPS_DIRECTORY_DEFAULT = '/run/nvidia-mps';
const LOG_SWEEP_MS = 3_600_000;
const isLoopback = (host: string): boolean => /^(127\.|localhost$|\[?::1\]?$)/.test(host);

export async function createAgent(settings: AgentSettings, adapters: AgentAdapters): Promise<Agent> {
  const parts = await assemble(settings, adapters);
  const { containers, log } = adapters;
  const host = isLoopback(new URL(settings.agentUrl).hostname) ? '127.0.0.1' : '0.0.0.0';
  const isAllowed = createTokenCheck(settings.node, settings.verifyKeyFile);
  const server: AgentServer = await startAgentServer(
    { containers, logs: parts.deps.logs, isAllowed, log },
    { host, port: settings.port },
  );
  return {
    port: server.port,
    prepare: (signal) => prepare(settings, adapters, { ...parts, signal }),
    run: (signal) => runLoops(parts, signal),
    startKernels: (batch, { signal, onPhase }) =>
      parts.turns.start(batch.sessionId, signal, (until) =>
        startKernels(parts.deps, batch, { signal: until, onPhase }),
      ),
    removeKernels: (removal, onPhase) =>
      parts.turns.remove(removal.sessionId, () => removeKernels(parts.deps, removal, onPhase)),
    notice: parts.notices.give,
    warm: ({ images }, progress) => warmImages(adapters, images, progress),
    afterSilence: parts.reconciler.afterSilence,
    counts: () => ({ starting: parts.turns.starting(), reportsWaiting: parts.outbox.waiting() }),
    close: async () => {
      parts.deps.probes.stopAll();
      await server.close();
      await parts.api.close();
    },
  };
}

async function assemble(settings: AgentSettings, adapters: AgentAdapters) {
  const { node } = settings;
  const { containers, log } = adapters;
  const metrics = createAgentMetrics(adapters.registry);
  const api = adapters.api ?? createApiClient(settings);
  const outbox = createOutbox({ api, metrics, log });
  const probes = createProbes({ outbox, log });
  const stops = await openMarks(join(settings.stateDir, 'stops'));
  const noticed = await openMarks(join(settings.stateDir, 'notices'));
  const exits = createExits({ node, containers, outbox, stops, metrics, log, onEnded: probes.stop });
  const logs = createLogStore({ dir: join(settings.stateDir, 'logs') });
  const publishAddress = isLoopback(new URL(settings.agentUrl).hostname) ? '127.0.0.1' : '0.0.0.0';
  const ports = createPorts(settings.portRange, publishAddress);
  const turns = createTurns();
  const removal = { containers, exits, logs, ports, probes, stops, notices: noticed, metrics, log };
  const notices = createNotices(removal);
  const { volumes, mpsDirectory = MPS_DIRECTORY_DEFAULT } = settings;
  const deps: StartDeps = { ...removal, node, api, outbox, volumes, publishAddress, mpsDirectory };
  const everyMs = settings.reconcileEveryMs === undefined ? {} : { everyMs: settings.reconcileEveryMs };
  const reconciler = createReconciler({ ...removal, node, api, isStarting: turns.isStarting, ...everyMs });
  return { api, outbox, exits, logs, reconciler, turns, notices, deps };
}

type Parts = Awaited<ReturnType<typeof assemble>>;

/** What runs already is taken up again before anything new can be asked for. */
async function prepare(
  settings: AgentSettings,
  { containers, devices, log }: AgentAdapters,
  { api, deps, reconciler, signal }: Parts & { readonly signal: AbortSignal },
): Promise<void> {
  const untilItWorks = <T>(attempted: string, step: () => Promise<T>): Promise<T> =>
    retry(step, { signal, onFailure: (error, pauseMs) => log.warn({ err: error, pauseMs }, `${attempted}: again`) });

  const engine = await untilItWorks('asking the container engine', () => containers.engineInfo());
  const kernels = await untilItWorks('listing containers', () => listKernels(containers, settings.node));
  for (const kernel of kernels) {
    deps.ports.adopt(runKey(kernel), kernel.ports);
    deps.probes.watch(kernel);
  }
  const found = await untilItWorks('finding devices', () => devices.discover());
  await untilItWorks('registering', () => api.register(registration(settings, engine, found), signal));
  log.info({ node: settings.node, devices: found.length, kernels: kernels.length }, 'registered');
  await untilItWorks('reconciling', () => reconciler.round({ starting: true, signal }));
}

async function runLoops({ outbox, exits, logs, reconciler }: Parts, signal: AbortSignal): Promise<void> {
  const sweep = async (): Promise<void> => {
    while (!signal.aborted) {
      await logs.sweep(new Date());
      await pause(LOG_SWEEP_MS, signal);
    }
  };
  await Promise.all([outbox.run(signal), exits.watch(signal), reconciler.run(signal), sweep()]);
}

async function removeKernels(
  deps: StartDeps,
  { sessionId, attempt, kernelIds, graceMs }: KernelRemoval,
  onPhase: (phase: string) => void,
): Promise<void> {
  onPhase('stopping');
  const graceSeconds = graceMs / 1000;
  await Promise.all(kernelIds.map((kernelId) => removeKernel(deps, { kernelId, attempt, graceSeconds })));
  await removeNetworkIfEmpty(deps, sessionId);
}
