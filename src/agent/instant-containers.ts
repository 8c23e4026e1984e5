import type { ContainerSpec } from '../docker/container-spec.js';
import type { ContainerState } from '../docker/container-state.js';
import type { Containers } from '../docker/containers.js';
import type { EngineInfo } from '../docker/engine-info.js';
import type { ContainerExit, ExitWatch } from '../docker/exits.js';
import { ContainerFailure } from '../docker/failures.js';
import type { LabelFilter } from '../docker/inspect.js';
import { type InstantListener, listenInstantly } from './instant-listener.js';
import { pause } from './retry.js';

const ENGINE: EngineInfo = {
  id: 'instant',
  version: 'simulated',
  apiVersion: '0',
  architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
  cpus: 1,
  memoryBytes: 1024 ** 3,
  runtimes: [],
};

interface Instant {
  readonly spec: ContainerSpec;
  state: ContainerState;
  listener?: InstantListener;
}

/**
 * A SIMULATED runtime for benchmarks: no container ever runs. One "runs" as long as its command `sleep N` says (at once
 * without one) and "exits" with 0, and answers at the ports that it publishes; all of it is in memory and gone with the process.
 */
export function createInstantContainers(): Containers {
  const all = new Map<string, Instant>();
  const watches = new Set<(exit: ContainerExit) => void>();
  const matching = (labels: LabelFilter): readonly ContainerState[] =>
    [...all.values()].map(({ state }) => state).filter((state) => hasLabels(state, labels));

  const end = (name: string, exitCode: number): ContainerState | undefined => {
    const found = all.get(name);
    if (found?.state.status !== 'running') return found?.state;
    const finishedAt = new Date();
    found.state = { ...found.state, status: 'exited', exitCode, finishedAt, ports: [] };
    found.listener?.close();
    const { id, labels } = found.state;
    for (const tell of watches) tell({ id, name, labels, exitCode, oomKilled: false, finishedAt });
    return found.state;
  };

  return {
    pull: async (reference) => image(reference),
    imageDigest: async (reference) => image(reference),
    images: async () => [],
    ensureCreated: async (spec) => {
      const known = all.get(spec.name) ?? { spec, state: created(spec) };
      all.set(spec.name, known);
      return { id: known.state.id };
    },
    ensureStarted: async (name) => {
      const found = all.get(name);
      if (found === undefined) throw new ContainerFailure('no_such_container', name);
      if (found.state.startedAt !== undefined) return found.state;
      return run(found, end);
    },
    startAgain: async (name) => {
      const found = all.get(name);
      if (found === undefined) throw new ContainerFailure('no_such_container', name);
      return found.state;
    },
    processIds: async () => [],
    hasBegun: async () => true,
    diagnoseExit: async () => undefined,
    stop: async (name) => end(name, 143),
    kill: async (name) => void end(name, 137),
    remove: async (name) => {
      end(name, 137);
      all.delete(name);
    },
    inspect: async (name) => all.get(name)?.state,
    list: async (labels) => matching(labels),
    watchExits: (watch) => follow(watch, watches),
    logs: async function* () {
      // an instant container says nothing
    },
    exec: async function* () {
      yield { stream: 'exit', exitCode: 0 };
    },
    stats: async () => undefined,
    ensureNetwork: async (name, { labels }) => ({ id: name, name, labels }),
    removeNetwork: async () => undefined,
    listNetworks: async () => [],
    engineInfo: async () => ENGINE,
  };
}

async function run(one: Instant, end: (name: string, exitCode: number) => unknown): Promise<ContainerState> {
  const { name, ports } = one.spec;
  one.listener = await listenInstantly(name, ports, () => void end(name, 137));
  one.state = { ...one.state, status: 'running', startedAt: new Date(), ports };
  setTimeout(() => end(name, 0), runMs(one.spec)).unref();
  return one.state;
}

async function follow(watch: ExitWatch, watches: Set<(exit: ContainerExit) => void>): Promise<void> {
  await watch.onReconnect();
  const tell = (exit: ContainerExit): void => {
    if (Object.entries(watch.labels).every(([name, value]) => exit.labels[name] === value)) void watch.onExit(exit);
  };
  watches.add(tell);
  while (!watch.signal.aborted) await pause(60_000, watch.signal);
  watches.delete(tell);
}

const hasLabels = ({ labels }: ContainerState, wanted: LabelFilter): boolean =>
  Object.entries(wanted).every(([name, value]) => (value === '' ? name in labels : labels[name] === value));

const image = (reference: string) => ({ imageId: reference, architecture: 'simulated', sizeBytes: 0 });

function created(spec: ContainerSpec): ContainerState {
  return {
    id: spec.name,
    name: spec.name,
    status: 'created',
    labels: spec.labels,
    imageId: spec.image,
    createdAt: new Date(),
    oomKilled: false,
    ports: [],
    addresses: {},
  };
}

/** Longer than a timer can be told is as good as for ever. */
const RUN_MS_MAX = 2_147_483_647;

function runMs({ command = [] }: ContainerSpec): number {
  if (command[0] !== 'sleep') return 0;
  const seconds = command[1] === 'infinity' ? Number.POSITIVE_INFINITY : Number(command[1]);
  return Number.isNaN(seconds) ? 0 : Math.min(seconds * 1000, RUN_MS_MAX);
}
