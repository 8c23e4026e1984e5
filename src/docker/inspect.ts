import type Docker from 'dockerode';
import { type ContainerState, containerState } from './container-state.js';
import { hasStatus } from './engine-error.js';
import { asFailure } from './failures.js';

/** Label → value; an empty value asks only that the label is there. */
export type LabelFilter = Readonly<Record<string, string>>;

/** At most this many questions are open at the engine at a time. */
const INSPECTS_MAX = 8;

/** Undefined when there is no such container. `name` may also be an id. */
export async function inspect(docker: Docker, name: string): Promise<ContainerState | undefined> {
  try {
    return containerState(await docker.getContainer(name).inspect());
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    return asFailure(() => Promise.reject(error as Error));
  }
}

/** All containers with these labels, ended ones too, by name. One that vanishes meanwhile is left out. */
export async function list(docker: Docker, labels: LabelFilter): Promise<readonly ContainerState[]> {
  const filters = { label: labelTerms(labels) };
  const found = await asFailure(() => docker.listContainers({ all: true, filters }));
  const states: ContainerState[] = [];
  for (let start = 0; start < found.length; start += INSPECTS_MAX) {
    const batch = await Promise.all(found.slice(start, start + INSPECTS_MAX).map(({ Id }) => inspect(docker, Id)));
    states.push(...batch.filter((state) => state !== undefined));
  }
  return states.sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function labelTerms(labels: LabelFilter): string[] {
  return Object.entries(labels).map(([label, value]) => (value === '' ? label : `${label}=${value}`));
}
