import type { ContainerSpec } from '../../src/docker/container-spec.js';

export const MIB = 1024 * 1024;

/** A small container that sleeps; `overrides` say what the test is about. */
export const spec = (overrides: Partial<ContainerSpec> = {}): ContainerSpec => ({
  name: 'berth-test',
  labels: {},
  image: 'berth/busybox:test',
  command: ['sleep', '60'],
  environment: {},
  cpuMilli: 500,
  memoryBytes: 64 * MIB,
  mounts: [],
  ports: [],
  ...overrides,
});
