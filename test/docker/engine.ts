import { afterAll, beforeAll } from 'vitest';
import { connectDocker } from '../../src/docker/connect.js';
import type { ContainerSpec } from '../../src/docker/container-spec.js';
import type { ContainerState } from '../../src/docker/container-state.js';
import { type Containers, createContainers } from '../../src/docker/containers.js';
import type { OutputFrame } from '../../src/docker/frames.js';
import { ensureTestDocker, uniqueLabel } from '../support/docker.js';
import { spec } from './spec.js';

const OWNER_LABEL = 'berth-test.owner';

export interface TestEngine {
  readonly containers: Containers;
  /** On everything that this file makes, and on nothing else. */
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: (overrides?: Partial<ContainerSpec>) => ContainerSpec;
  /** Creates and starts one. */
  readonly started: (overrides?: Partial<ContainerSpec>) => Promise<ContainerState>;
  /** Creates and starts one, and waits for its end. */
  readonly ended: (overrides?: Partial<ContainerSpec>) => Promise<ContainerState>;
  readonly unique: (what: string) => string;
}

/** The real engine, for one test file; its containers and networks are gone when the file ends. */
export function testEngine(): TestEngine {
  const docker = connectDocker();
  const containers = createContainers({ docker });
  const owner = uniqueLabel('docker');
  const labels = { [OWNER_LABEL]: owner };
  let count = 0;
  const unique = (what: string): string => `${owner}-${what}-${(count += 1)}`;
  const own = (overrides: Partial<ContainerSpec> = {}): ContainerSpec =>
    spec({ name: unique('c'), stopSignal: 'SIGKILL', ...overrides, labels: { ...labels, ...overrides.labels } });
  const started = async (overrides?: Partial<ContainerSpec>): Promise<ContainerState> => {
    const wanted = own(overrides);
    await containers.ensureCreated(wanted);
    return containers.ensureStarted(wanted.name);
  };
  const ended = async (overrides?: Partial<ContainerSpec>): Promise<ContainerState> => {
    const wanted = own(overrides);
    await containers.ensureCreated(wanted);
    await docker.getContainer(wanted.name).start();
    await docker.getContainer(wanted.name).wait();
    return present(await containers.inspect(wanted.name));
  };
  beforeAll(() => ensureTestDocker().then(() => undefined));
  afterAll(async () => {
    for (const { name } of await containers.list(labels)) await containers.remove(name);
    for (const { name } of await containers.listNetworks(labels)) await containers.removeNetwork(name);
  });
  return { containers, labels, spec: own, started, ended, unique };
}

export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('expected something, found nothing');
  return value;
}

/** All output of one stream as text. */
export async function textOf(
  frames: AsyncIterable<OutputFrame | { readonly stream: 'exit' }>,
  stream: OutputFrame['stream'] = 'stdout',
): Promise<string> {
  const parts: Buffer[] = [];
  for await (const frame of frames) if (frame.stream === stream && 'data' in frame) parts.push(frame.data);
  return Buffer.concat(parts).toString('utf8');
}
