import type Docker from 'dockerode';
import type { NetworkInspectInfo } from 'dockerode';
import { hasStatus, readEngineError } from './engine-error.js';
import { AMBIGUOUS_NETWORK } from './failure-rules.js';
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
    const found = await named(docker, name);
    if (found.length > 0) return onlyOne(docker, found);
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
    const made = await named(docker, name);
    if (made.length === 0) throw new ContainerFailure('engine_error', `network ${name} vanished`);
    return onlyOne(docker, made);
  });
}

/**
 * The engine allows two networks of one name when two creates cross. The one in use stays, else the first made: whoever
 * found it alone goes on with it, and until the others are gone the name is ambiguous (`isAmbiguous`).
 */
async function onlyOne(docker: Docker, found: readonly NetworkState[]): Promise<NetworkState> {
  let kept = found[0] as NetworkState;
  for (const network of found.slice(1)) {
    if (await removeUnlessUsed(docker, network.id)) continue;
    await removeUnlessUsed(docker, kept.id);
    kept = network;
  }
  return kept;
}

/** True for a create or a start that met two networks of one name: it passes as soon as one of them is removed. */
export const isAmbiguous = (error: unknown): boolean => AMBIGUOUS_NETWORK.test(readEngineError(error).text);

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

/** The first made first. The engine's filter matches parts of names; only equal names count here. */
async function named(docker: Docker, name: string): Promise<readonly NetworkState[]> {
  const found = await docker.listNetworks({ filters: { name: [name] } });
  const equal = found.filter((network) => network.Name === name);
  return equal.sort((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1)).map(networkState);
}

/** The fraction of its second has no trailing zeros, so the zone behind it would be compared with digits. */
const ageOf = ({ Created, Id }: NetworkInspectInfo): string => `${Created.replace(/(Z|[+-]\d\d:\d\d)$/, '')} ${Id}`;

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

/** False when containers are in it. */
async function removeUnlessUsed(docker: Docker, id: string): Promise<boolean> {
  try {
    await removeOne(docker, id);
    return true;
  } catch (error) {
    if (hasStatus(error, 403)) return false;
    throw error;
  }
}
