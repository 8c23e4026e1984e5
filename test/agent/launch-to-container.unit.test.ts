import { describe, expect, test } from 'vitest';
import { launchToContainer } from '../../src/agent/launch-to-container.js';
import type { LaunchOrder } from '../../src/contract/index.js';
import { containerConfig } from '../../src/docker/container-config.js';
import type { ContainerSpec } from '../../src/docker/container-spec.js';
import { launchOrder, orderedDevice } from './support/launch-order.js';

const side = { node: 'n1', publishAddress: '127.0.0.1', mpsDirectory: '/run/nvidia-mps', mounts: [], ports: [] };
const specOf = (changes: Partial<LaunchOrder>): ContainerSpec => launchToContainer(launchOrder('img', changes), side);
const peer = (hostname: string, rank: number, sameEngine = true) => ({
  ...{ hostname, rank, role: 'x', node: 'n', address: `10.0.0.${rank}`, sameEngine },
});
const gpu = (index: number, simulated: boolean) =>
  orderedDevice(index, { id: `${simulated ? 'sim' : 'GPU'}-${index}`, simulated });

const cases: [title: string, changes: Partial<LaunchOrder>, want: Partial<ContainerSpec> | object][] = [
  ['keeps limits as they are', { cpuMilli: 1500, memoryBytes: 2 ** 30 }, { cpuMilli: 1500, memoryBytes: 2 ** 30 }],
  ['gives shared memory half of the limit', { memoryBytes: 2 ** 30 }, { shmBytes: 2 ** 29 }],
  ['gives shared memory 64 MiB at least', { memoryBytes: 2 ** 20 }, { shmBytes: 2 ** 26 }],
  ['leaves the entrypoint to the image', { entrypoint: null, command: ['a'] }, { command: ['a'] }],
  ['replaces the entrypoint', { entrypoint: ['e'] }, { entrypoint: ['e'] }],
  ['writes the epoch as a label', { epoch: 42 }, { labels: { 'berth.epoch': '42', 'berth.node': 'n1' } }],
  [
    'asks for real devices by id',
    { devices: [gpu(0, false)] },
    { devices: { driver: 'nvidia', deviceIds: ['GPU-0'] } },
  ],
  [
    'calls simulated devices so',
    { devices: [gpu(1, true)] },
    { devices: { driver: 'simulated', environment: { BERTH_SIMULATED_GPUS: 'sim-1', BERTH_GPU_COUNT: '1' } } },
  ],
  [
    'lets nobody claim devices or another rank',
    { environment: { BERTH_GPU_COUNT: '8', BERTH_RANK: '3', BERTH_X: 'y' } },
    { environment: { BERTH_GPU_COUNT: '0', BERTH_RANK: '0', BERTH_X: 'y' } },
  ],
  [
    "lets torchrun's names be overridden",
    { environment: { MASTER_PORT: '1' } },
    { environment: { MASTER_PORT: '1', BERTH_MASTER_PORT: '29500', WORLD_SIZE: '1' } },
  ],
  [
    'lists hosts by rank, itself once',
    { size: 3, rank: 1, hostname: 'b', peers: [peer('c', 2), peer('a', 0), peer('b', 1)] },
    { environment: { BERTH_HOSTS: 'a,b,c', MASTER_ADDR: 'a', RANK: '1', WORLD_SIZE: '3', NODE_RANK: '1' } },
  ],
  [
    'knows peers of another engine by address',
    { size: 2, peers: [peer('main', 0), peer('far', 1, false)] },
    { network: { aliases: ['main'], extraHosts: { far: '10.0.0.1' } } },
  ],
];

describe('launchToContainer', () => {
  for (const [title, changes, want] of cases) test(title, () => expect(specOf(changes)).toMatchObject(want));

  test('keeps a single kernel away from those of other sessions', () =>
    expect(specOf({}).network?.name).toBe('berth-solo'));

  test("shares by MPS are created with the node's directory, its shared memory, and no shared memory of their own", () => {
    const share = { memoryBytes: 4 * 2 ** 30, limitBytes: 8 * 2 ** 30 };
    const { HostConfig: host = {}, Env = [] } = containerConfig(
      specOf({ devices: [{ ...gpu(0, false), sharing: 'mps', share }] }),
    );
    expect(host.DeviceRequests).toEqual([{ Driver: 'nvidia', DeviceIDs: ['GPU-0'], Capabilities: [['gpu']] }]);
    expect(host.Mounts?.map(({ Source, Target }) => `${Source}:${Target}`)).toEqual([
      '/run/nvidia-mps:/run/nvidia-mps',
      '/dev/shm:/dev/shm',
    ]);
    expect(host.ShmSize).toBeUndefined();
    expect(host.IpcMode).toBe('private');
    expect(Env).toEqual(
      expect.arrayContaining(['CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=8192M', 'CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25']),
    );
  });

  test('shares by a limit of the driver are created by way of the container device interface', () => {
    const share = { memoryBytes: 4 * 2 ** 30, limitBytes: 4 * 2 ** 30 };
    const environment = { NVIDIA_GPU_MEMORY_LIMIT: '999999', NVIDIA_VISIBLE_DEVICES: 'all' };
    const { HostConfig: host = {}, Env = [] } = containerConfig(
      specOf({ environment, devices: [{ ...gpu(0, false), sharing: 'memory-limit', share }] }),
    );
    expect(host.DeviceRequests).toEqual([{ Driver: 'cdi', DeviceIDs: ['nvidia.com/gpu=GPU-0'] }]);
    expect(Env).toEqual(expect.arrayContaining(['NVIDIA_GPU_MEMORY_LIMIT=4096', 'NVIDIA_VISIBLE_DEVICES=void']));
    expect(Env.filter((entry) => entry.startsWith('NVIDIA_GPU_MEMORY_LIMIT='))).toHaveLength(1);
  });

  test('an instance of a GPU is asked for by its own id', () => {
    const instance = { ...gpu(0, false), id: 'MIG-a', sharing: 'mig' as const, parentId: 'GPU-0' };
    const { HostConfig: host = {} } = containerConfig(
      specOf({ devices: [{ ...instance, share: { memoryBytes: 2 ** 30, limitBytes: 2 ** 30 } }] }),
    );
    expect(host.DeviceRequests).toEqual([{ Driver: 'nvidia', DeviceIDs: ['MIG-a'], Capabilities: [['gpu']] }]);
  });

  test("a limit that cannot be set is a device that cannot be had, and the platform's", () => {
    const share = { memoryBytes: 1, limitBytes: 1 };
    const start = () => specOf({ devices: [{ ...gpu(0, false), sharing: 'mps', share }] });
    expect(start).toThrow(
      expect.objectContaining({ failure: expect.objectContaining({ cause: 'device-unavailable' }) }),
    );
  });

  test('refuses real and simulated devices together', () => {
    expect(() => specOf({ devices: [gpu(0, false), gpu(1, true)] })).toThrow('cannot be in one container');
  });

  test('is a function of its arguments alone', () => {
    const order = launchOrder('img');
    expect(launchToContainer(order, side)).toEqual(launchToContainer(order, side));
  });
});
