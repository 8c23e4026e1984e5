import { join } from 'node:path';
import type { Containers } from '../docker/containers.js';
import type { AgentAdapters, AgentSettings } from './agent.js';
import { createAgentMetrics } from './agent-metrics.js';
import { createApiClient } from './api-client.js';
import { openContact } from './contact.js';
import type { ContactGuardDeps } from './contact-guard.js';
import { openDeviceCounters } from './device-counters.js';
import { assembleEngines } from './engines/assemble-engines.js';
import { createExits } from './exits.js';
import { LABEL } from './kernel-container.js';
import { listenAddress } from './listen-address.js';
import { createLogStore } from './log-store.js';
import { openMarks } from './marks.js';
import { createNodeHealth } from './node-health.js';
import { createNotices } from './notice.js';
import { createOutbox } from './outbox.js';
import { createPorts } from './ports.js';
import { createProbes } from './probes.js';
import { createReconciler } from './reconcile.js';
import { createRemovals } from './removals.js';
import type { RemovalDeps } from './remove-kernel.js';
import { createReplicaMetrics } from './replica-metrics.js';
import type { StartDeps } from './start-kernels.js';
import { createTurns } from './turns.js';
import { createUsageMeter } from './usage-meter.js';

const MPS_DIRECTORY_DEFAULT = '/run/nvidia-mps';
/** The parts of an agent, with one another as they need; nothing runs yet. */
export async function assembleAgent(settings: AgentSettings, adapters: AgentAdapters) {
  const { node, volumes, mpsDirectory = MPS_DIRECTORY_DEFAULT } = settings;
  const { log, devices } = adapters;
  const contact = await openContact(settings.stateDir);
  const api = adapters.api ?? createApiClient({ ...settings, onAccepted: contact.made });
  const health = createNodeHealth({ api, devices, containers: adapters.containers, log }, settings.health);
  const containers: AgentAdapters['containers'] = {
    ...ownContainers(adapters.containers, node),
    pull: (...request) => adapters.containers.pull(...request).finally(health.imagesChanged),
  };
  const { removal, outbox, figures } = await removalParts({ settings, adapters: { ...adapters, containers }, api });
  const { exits, logs, cuts, engines } = removal;
  const counters = await openDeviceCounters(settings.stateDir);
  const meter = createUsageMeter({ node, api, containers, devices, counters, log }, settings.usage);
  const turns = createTurns(() => new Error('the session is being removed'));
  const removals = createRemovals(turns, containers);
  const notices = createNotices(removal);
  const publishAddress = listenAddress(settings);
  const deps: StartDeps = { ...removal, node, api, outbox, volumes, publishAddress, mpsDirectory };
  const everyMs = settings.reconcileEveryMs === undefined ? {} : { everyMs: settings.reconcileEveryMs };
  const reconciler = createReconciler({ ...removal, node, api, isStarting: turns.isRunning, ...everyMs });
  const lookEveryMs = settings.contactCheckEveryMs === undefined ? {} : { everyMs: settings.contactCheckEveryMs };
  const guard: ContactGuardDeps = { node, containers, contact, notices, cuts, log, ...lookEveryMs };
  return {
    api,
    outbox,
    exits,
    logs,
    reconciler,
    turns,
    removals,
    notices,
    health,
    contact,
    guard,
    meter,
    figures,
    engines,
    deps,
  };
}

/**
 * Several nodes may share an engine. A container of another one is not there for this one, by whatever name it is asked for:
 * every stop and removal looks first.
 */
function ownContainers(containers: Containers, node: string): Containers {
  return {
    ...containers,
    inspect: async (name) => {
      const state = await containers.inspect(name);
      return state?.labels[LABEL.node] === node ? state : undefined;
    },
  };
}

interface RemovalSide {
  readonly settings: AgentSettings;
  readonly adapters: AgentAdapters;
  readonly api: ReturnType<typeof createApiClient>;
}

async function removalParts({ settings, adapters, api }: RemovalSide) {
  const { node, stateDir } = settings;
  const { containers, log } = adapters;
  const metrics = createAgentMetrics(adapters.registry);
  const outbox = createOutbox({ api, metrics, log });
  const marks = (name: string) => openMarks(join(stateDir, name));
  const [stops, notices, cuts] = await Promise.all([marks('stops'), marks('notices'), marks('cuts')]);
  const answered = await marks('answered');
  const figures = createReplicaMetrics({ api, log });
  const probes = createProbes({ outbox, answered, figures, log });
  const exits = createExits({ node, containers, outbox, stops, cuts, metrics, log, onEnded: probes.stop });
  const logs = createLogStore({ dir: join(stateDir, 'logs') });
  const ports = createPorts(settings.portRange, listenAddress(settings));
  const engines = await assembleEngines({ settings, adapters: { ...adapters, containers }, api, ports });
  const removal = { containers, exits, logs, ports, probes, answered, stops, notices, cuts, engines, metrics, log };
  return { removal: removal satisfies RemovalDeps, outbox, figures };
}
