import type Docker from 'dockerode';
import type { NetworkInspectInfo } from 'dockerode';
import { hasStatus } from './engine-error.js';
import { asFailure, ContainerFailure } from './failures.js';
import { type LabelFilter, labelTerms } from './inspect.js';

export interface NetworkState {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface NetworkOptions {
  readonly labels: LabelFilter;
  /** Its containers reach the outside and the host reaches them, but not one another. */
  readonly isolated?: boolean;
}

const ISOLATED = { 'com.docker.network.bridge.enable_icc': 'false' };

/** A bridge network in which containers find each other by alias. A second call finds the first one's network. */
export async function ensureNetwork(docker: Docker, name: string, options: NetworkOptions): Promise<NetworkState> {
  const { labels, isolated = false } = options;
  return asFailure(async () => {
    const [found] = await named(docker, name);
    if (found !== undefined) return found;
    try {
      await docker.createNetwork({
        Name: name,
        CheckDuplicate: true,
        Driver: 'bridge',
        Labels: { ...labels },
        ...(isolated && { Options: ISOLATED }),
      });
    } catch (error) {
      if (!hasStatus(error, 409)) throw error;
    }
    return onlyOne(docker, name);
  });
}

/** The engine allows two networks of one name when two creates cross; the lowest id stays, as every caller agrees. */
async function onlyOne(docker: Docker, name: string): Promise<NetworkState> {
  const [first, ...rest] = await named(docker, name);
  if (first === undefined) throw new ContainerFailure('engine_error', `network ${name} vanished`);
  for (const network of rest) await removeOne(docker, network.id);
  return first;
}

/** Containers still in it are cut off first. A network that is gone is success. */
export async function removeNetwork(docker: Docker, name: string): Promise<void> {
  await asFailure(async () => {
    for (const network of await named(docker, name)) {
      await disconnectAll(docker, network.id);
      await removeOne(docker, network.id);
    }
  });
}

export async function listNetworks(docker: Docker, labels: LabelFilter): Promise<readonly NetworkState[]> {
  return asFailure(async () => {
    const found = await docker.listNetworks({ filters: { label: labelTerms(labels) } });
    return found.map(networkState).sort((a, b) => (a.name < b.name ? -1 : 1));
  });
}

/** The engine's filter matches parts of names; only equal names count here. */
async function named(docker: Docker, name: string): Promise<readonly NetworkState[]> {
  const found = await docker.listNetworks({ filters: { name: [name] } });
  const equal = found.filter((network) => network.Name === name).map(networkState);
  return equal.sort((a, b) => (a.id < b.id ? -1 : 1));
}

const networkState = ({ Id, Name, Labels }: NetworkInspectInfo): NetworkState => ({
  id: Id,
  name: Name,
  labels: Labels ?? {},
});

async function disconnectAll(docker: Docker, id: string): Promise<void> {
  const network = docker.getNetwork(id);
  try {
    const { Containers } = await network.inspect();
    for (const Container of Object.keys(Containers ?? {})) await network.disconnect({ Container, Force: true });
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
  }
}

async function removeOne(docker: Docker, id: string): Promise<void> {
  try {
    await docker.getNetwork(id).remove();
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
  }
}
