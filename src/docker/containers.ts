import type Docker from 'dockerode';
import type { ContainerSpec } from './container-spec.js';
import type { ContainerState } from './container-state.js';
import { ensureCreated } from './create.js';
import { type EngineInfo, engineInfo } from './engine-info.js';
import { type ExecCall, type ExitFrame, exec } from './exec.js';
import { type ExitWatch, watchExits } from './exits.js';
import type { ContainerFailure } from './failures.js';
import type { OutputFrame } from './frames.js';
import { type ImageIdentity, imageDigest, imageNames } from './images.js';
import { inspect, type LabelFilter, list } from './inspect.js';
import { type LogOptions, logs } from './logs.js';
import { ensureNetwork, listNetworks, type NetworkOptions, type NetworkState, removeNetwork } from './networks.js';
import { hasBegun, processIds } from './processes.js';
import { createPull, type Pull } from './pull.js';
import { diagnoseExit, ensureStarted, startAgain } from './start.js';
import { stats, type Usage } from './stats.js';
import { kill, remove, type StopOptions, stop } from './stop.js';

/**
 * The container engine, as the hands of a node. Containers are known by name. Every operation may run twice, and what
 * is already so is success. Whatever fails is a `ContainerFailure`; an aborted wait throws the signal's reason.
 */
export interface Containers {
  readonly pull: Pull;
  readonly imageDigest: (reference: string) => Promise<ImageIdentity | undefined>;
  /** Every name under which the engine holds an image. */
  readonly images: () => Promise<readonly string[]>;
  readonly ensureCreated: (spec: ContainerSpec) => Promise<{ readonly id: string }>;
  readonly ensureStarted: (name: string) => Promise<ContainerState>;
  /** Also one that has ended. */
  readonly startAgain: (name: string) => Promise<ContainerState>;
  readonly diagnoseExit: (state: ContainerState) => Promise<ContainerFailure | undefined>;
  readonly stop: (name: string, options: StopOptions) => Promise<ContainerState | undefined>;
  readonly kill: (name: string, signal?: string) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
  readonly inspect: (name: string) => Promise<ContainerState | undefined>;
  readonly list: (labels: LabelFilter) => Promise<readonly ContainerState[]>;
  readonly watchExits: (watch: ExitWatch) => Promise<void>;
  readonly logs: (name: string, options?: LogOptions) => AsyncGenerator<OutputFrame, void>;
  readonly exec: (call: ExecCall) => AsyncGenerator<OutputFrame | ExitFrame, void>;
  readonly stats: (name: string) => Promise<Usage | undefined>;
  /** As the engine's machine numbers them; none of one that does not run. */
  readonly processIds: (name: string) => Promise<readonly number[]>;
  /** Its init has come to run the command, or is over. */
  readonly hasBegun: (name: string) => Promise<boolean>;
  readonly ensureNetwork: (name: string, options: NetworkOptions) => Promise<NetworkState>;
  readonly removeNetwork: (name: string) => Promise<void>;
  readonly listNetworks: (labels: LabelFilter) => Promise<readonly NetworkState[]>;
  readonly engineInfo: () => Promise<EngineInfo>;
}

export function createContainers({ docker }: { readonly docker: Docker }): Containers {
  return {
    pull: createPull(docker),
    imageDigest: (reference) => imageDigest(docker, reference),
    images: () => imageNames(docker),
    ensureCreated: (spec) => ensureCreated(docker, spec),
    ensureStarted: (name) => ensureStarted(docker, name),
    startAgain: (name) => startAgain(docker, name),
    diagnoseExit: (state) => diagnoseExit(docker, state),
    stop: (name, options) => stop(docker, name, options),
    kill: (name, signal) => kill(docker, name, signal),
    remove: (name) => remove(docker, name),
    inspect: (name) => inspect(docker, name),
    list: (labels) => list(docker, labels),
    watchExits: (watch) => watchExits(docker, watch),
    logs: (name, options) => logs(docker, name, options),
    exec: (call) => exec(docker, call),
    stats: (name) => stats(docker, name),
    processIds: (name) => processIds(docker, name),
    hasBegun: (name) => hasBegun(docker, name),
    ensureNetwork: (name, options) => ensureNetwork(docker, name, options),
    removeNetwork: (name) => removeNetwork(docker, name),
    listNetworks: (labels) => listNetworks(docker, labels),
    engineInfo: () => engineInfo(docker),
  };
}
