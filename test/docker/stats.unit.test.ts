import type { ContainerStats } from 'dockerode';
import { expect, test } from 'vitest';
import { usage } from '../../src/docker/stats.js';

const sample = (memory: object, networks?: object): ContainerStats =>
  ({
    read: '2026-01-01T00:00:00Z',
    cpu_stats: { cpu_usage: { total_usage: 7_000_000_000 } },
    memory_stats: memory,
    pids_stats: { current: 3 },
    networks,
  }) as unknown as ContainerStats;

test.each([
  ['cgroup v1', { usage: 100, stats: { total_inactive_file: 30, inactive_file: 20 } }, 70],
  ['cgroup v2', { usage: 100, stats: { inactive_file: 20 } }, 80],
  ['an engine that tells no details', { usage: 100 }, 100],
  ['more cache than use', { usage: 10, stats: { inactive_file: 20 } }, 0],
])('memory in use leaves out the cache under %s', (_title, memory, memoryBytes) => {
  expect(usage(sample(memory))).toMatchObject({ memoryBytes, cpuNanoseconds: 7_000_000_000, pids: 3 });
});

test('traffic is the sum over networks', () => {
  const networks = { eth0: { rx_bytes: 1, tx_bytes: 2 }, eth1: { rx_bytes: 10, tx_bytes: 20 } };
  expect(usage(sample({ usage: 1 }, networks))).toMatchObject({ receivedBytes: 11, sentBytes: 22 });
});

test('a container that does not run has no usage', () => expect(usage(sample({}))).toBeUndefined());
