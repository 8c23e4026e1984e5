import { setMaxListeners } from 'node:events';
import type { Registry } from 'prom-client';
import type { DeviceProvider } from '../devices/device-provider.js';
import type { GpuMemory } from '../devices/gpu-memory.js';
import type { Containers } from '../docker/containers.js';
import type { Logger } from '../platform/log.js';
import { type AgentServer, startAgentServer } from './agent-server.js';
import { createTokenCheck } from './agent-token.js';
import type { AgentApi } from './api-client.js';
import { assembleAgent } from './assemble-agent.js';
import { guardContact } from './contact-guard.js';
import type { ArtifactsSettings } from './engines/assemble-engines.js';
import { adoptPort } from './engines/crash-watch.js';
import type { EngineManager, EngineSettings } from './engines/engine-manager.js';
import { listEngines } from './engines/found-engine.js';
import { listKernels } from './inventory.js';
import { runKey } from './kernel-container.js';
import { listenAddress } from './listen-address.js';
import type { Volumes } from './mounts.js';
import type { HealthSettings } from './node-health.js';
import type { Notice } from './notice.js';
import type { PortRange } from './ports.js';
import { type MachineSettings, registration } from './registration.js';
import { removeKernel, removeNetworkIfEmpty } from './remove-kernel.js';
import { pause, retry } from './retry.js';
import { type KernelBatch, type StartDeps, type StartProgress, startKernels } from './start-kernels.js';
import type { UsageSettings } from './usage-meter.js';
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
  readonly health?: HealthSettings;
  readonly usage?: UsageSettings;
  readonly engines?: EngineSettings & ArtifactsSettings;
  /** How often an agent that is out of contact looks for what it must stop. */
  readonly contactCheckEveryMs?: number;
}

export interface AgentAdapters {
  readonly containers: Containers;
  readonly devices: DeviceProvider;
  /** Of found GPUs; unset where they are simulated. */
  readonly gpuMemory?: GpuMemory | undefined;
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
  /** The engines of members of pools that run here. */
  readonly engines: Pick<EngineManager, 'setLimits' | 'startEngine' | 'sleepEngine' | 'wakeEngine' | 'stopEngine'>;
  readonly afterSilence: (signal: AbortSignal) => Promise<void>;
  /** Temporal heard a beat of this node, which had reconciled: the ledger does not take it for lost. */
  readonly contactMade: () => void;
  readonly counts: () => Readonly<Record<string, number>>;
  /** Closes the port and the connections. Containers go on. */
  readonly close: () => Promise<void>;
}

const LISTENERS_MAX = 100;
const LOG_SWEEP_MS = 3_600_000;

export async function createAgent(settings: AgentSettings, adapters: AgentAdapters): Promise<Agent> {
  const parts = await assembleAgent(settings, adapters);
  const { containers, log } = parts.deps;
  const host = listenAddress(settings);
  const isAllowed = createTokenCheck(settings.node, settings.verifyKeyFile);
  const server: AgentServer = await startAgentServer(
    { containers, logs: parts.deps.logs, isAllowed, log },
    { host, port: settings.port },
  );
  return {
    port: server.port,
    prepare: (signal) => prepare(settings, adapters.devices, { ...parts, signal }),
    run: (signal) => runLoops(parts, signal),
    startKernels: (batch, { signal, onPhase }) =>
      parts.turns.run(batch.sessionId, signal, (until) => startKernels(parts.deps, batch, { signal: until, onPhase })),
    removeKernels: (removal, onPhase) => parts.removals.run(removal, () => removeKernels(parts.deps, removal, onPhase)),
    notice: parts.notices.give,
    warm: ({ images }, progress) => warmImages(parts.deps, images, progress),
    engines: parts.engines,
    afterSilence: parts.reconciler.afterSilence,
    contactMade: parts.contact.made,
    counts: () => ({ starting: parts.turns.running(), reportsWaiting: parts.outbox.waiting() }),
    close: async () => {
      parts.deps.probes.stopAll();
      await parts.engines.close();
      parts.deps.ports.close();
      await server.close();
      await parts.api.close();
      await parts.contact.close();
    },
  };
}

type Parts = Awaited<ReturnType<typeof assembleAgent>>;

/** What runs already is taken up again before anything new can be asked for. */
async function prepare(
  settings: AgentSettings,
  devices: DeviceProvider,
  { api, deps, health, reconciler, signal }: Parts & { readonly signal: AbortSignal },
): Promise<void> {
  const { containers, log } = deps;
  const untilItWorks = <T>(attempted: string, step: () => Promise<T>): Promise<T> =>
    retry(step, { signal, onFailure: (error, pauseMs) => log.warn({ err: error, pauseMs }, `${attempted}: again`) });

  const engine = await untilItWorks('asking the container engine', () => containers.engineInfo());
  const kernels = await untilItWorks('listing containers', () => listKernels(containers, settings.node));
  for (const kernel of kernels) {
    deps.ports.adopt(runKey(kernel), kernel.ports);
    deps.probes.watch(kernel);
  }
  const engines = await untilItWorks('listing engines', () => listEngines(containers, settings.node));
  for (const found of engines) adoptPort(deps, found);
  const found = await untilItWorks('finding devices', () => devices.discover());
  for (const { id, sharingFault } of found) if (sharingFault !== undefined) log.error({ id }, sharingFault);
  const images = await untilItWorks('listing images', () => containers.images());
  await untilItWorks('registering', () => api.register(registration(settings, engine, { found, images }), signal));
  health.begin(found);
  log.info({ node: settings.node, devices: found.length, kernels: kernels.length }, 'registered');
  await untilItWorks('reconciling', () => reconciler.round({ starting: true, signal }));
}

async function runLoops(parts: Parts, signal: AbortSignal): Promise<void> {
  const { outbox, exits, logs, reconciler, health, meter, figures, engines } = parts;
  setMaxListeners(LISTENERS_MAX, signal); // each loop and each wait in it listens
  const sweep = async (): Promise<void> => {
    while (!signal.aborted) {
      await logs.sweep(new Date());
      await pause(LOG_SWEEP_MS, signal);
    }
  };
  await Promise.all([
    outbox.run(signal),
    exits.watch(signal),
    reconciler.run(signal),
    health.run(signal),
    meter.run(signal),
    figures.run(signal),
    engines.run(signal),
    guardContact(parts.guard, signal),
    sweep(),
  ]);
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
