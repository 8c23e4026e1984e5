import { randomBytes } from 'node:crypto';
import { engine, ensureDocker } from '../../infra/setup/docker.mjs';
import { BUSYBOX_IMAGE, ensureImages, PYTHON_IMAGE } from '../../infra/setup/image.mjs';

export interface TestDocker {
  /** A shell and small tools: starts at once. */
  readonly busybox: string;
  /** Debian's python3-minimal. */
  readonly python: string;
}

export interface ListedContainer {
  readonly id: string;
  readonly name: string;
  /** Docker's own: created, running, exited, … */
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A running engine with the test images; each is made at most once a machine. */
export async function ensureTestDocker(): Promise<TestDocker> {
  await ensureDocker();
  await ensureImages();
  return { busybox: BUSYBOX_IMAGE, python: PYTHON_IMAGE };
}

/** A label value of this test alone, so that parallel tests never see each other's containers. */
export const uniqueLabel = (prefix: string): string => `${prefix}-${randomBytes(4).toString('hex')}`;

/**
 * Containers, also stopped ones, with a label that starts with `prefix`; `prefix` is compared with `name=value`,
 * so `berth.node=n1` and `berth.` both work.
 */
export async function listContainers(prefix: string): Promise<ListedContainer[]> {
  const { text } = await engine('GET', '/containers/json?all=true');
  const rows = JSON.parse(text) as { Id: string; Names: string[]; State: string; Labels: Record<string, string> }[];
  return rows
    .filter((row) => Object.entries(row.Labels).some(([name, value]) => `${name}=${value}`.startsWith(prefix)))
    .map((row) => ({
      id: row.Id,
      name: (row.Names[0] ?? '').replace(/^\//, ''),
      state: row.State,
      labels: row.Labels,
    }));
}

/** Removes them by force and returns how many; one that is gone meanwhile is success. */
export async function removeContainers(prefix: string): Promise<number> {
  const found = await listContainers(prefix);
  for (const { id } of found) await engine('DELETE', `/containers/${id}?force=true&v=true`);
  return found.length;
}
