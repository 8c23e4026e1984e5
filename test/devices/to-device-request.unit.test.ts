import { describe, expect, expectTypeOf, test } from 'vitest';
import type { OrderedDevice } from '../../src/devices/share-limits.js';
import { type DeviceRequest, toDeviceRequest } from '../../src/devices/to-device-request.js';
import type { DeviceRequestSpec } from '../../src/docker/container-spec.js';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const place = { mpsDirectory: '/run/nvidia-mps' };

const device = (id: string, changes: Partial<OrderedDevice> = {}): OrderedDevice => ({
  ...{ id, index: 0, memoryBytes: 24 * GIB, simulated: id.startsWith('sim'), sharing: 'none', share: null },
  ...changes,
});
const share = (memoryBytes: number, limitBytes = memoryBytes) => ({ share: { memoryBytes, limitBytes } });
const requestOf = (...devices: OrderedDevice[]): DeviceRequest | undefined => toDeviceRequest(devices, place)?.request;

describe('whole devices', () => {
  test('none is nothing at all', () => expect(toDeviceRequest([], place)).toBeUndefined());

  test('are those of the order, in the order of the node', () => {
    expect(requestOf(device('GPU-b', { index: 1, memoryBytes: 2 }), device('GPU-a', { memoryBytes: 1 }))).toEqual({
      driver: 'nvidia',
      deviceIds: ['GPU-a', 'GPU-b'],
      environment: {
        NVIDIA_VISIBLE_DEVICES: 'GPU-a,GPU-b',
        BERTH_GPU_COUNT: '2',
        BERTH_GPU_MEMORY_BYTES: '1,2',
        BERTH_GPU_SHARING: 'whole',
        BERTH_GPU_GUARANTEES: 'memory enforced, compute exclusive, faults isolated',
      },
    });
  });

  test('are not limited by how shares of them would be', () => {
    const request = requestOf(device('GPU-a', { sharing: 'mps' }));
    expect(Object.keys(request?.environment ?? {}).filter((name) => /MPS|LIMIT/.test(name))).toEqual([]);
    expect(request?.environment['BERTH_GPU_SHARING']).toBe('whole');
  });

  test('that are simulated are environment alone, and said to be simulated', () => {
    expect(requestOf(device('sim-0'), device('sim-1', { index: 1 }))).toEqual({
      driver: 'simulated',
      deviceIds: ['sim-0', 'sim-1'],
      environment: {
        BERTH_SIMULATED_GPUS: 'sim-0,sim-1',
        BERTH_GPU_COUNT: '2',
        BERTH_GPU_MEMORY_BYTES: `${24 * GIB},${24 * GIB}`,
        BERTH_GPU_SHARING: 'whole',
        BERTH_GPU_GUARANTEES: 'simulated: memory enforced, compute exclusive, faults isolated',
      },
    });
  });
});

describe('a share', () => {
  test('by mig is the instance, with the memory that the hardware gives it', () => {
    const instance = device('MIG-1', { sharing: 'mig', memoryBytes: 4864 * MIB, ...share(4 * GIB, 5 * GIB) });
    expect(requestOf(instance)).toEqual({
      driver: 'nvidia',
      deviceIds: ['MIG-1'],
      environment: {
        NVIDIA_VISIBLE_DEVICES: 'MIG-1',
        BERTH_GPU_COUNT: '1',
        BERTH_GPU_MEMORY_BYTES: String(4864 * MIB),
        BERTH_GPU_SHARING: 'mig',
        BERTH_GPU_GUARANTEES: 'memory enforced, compute exclusive, faults isolated',
      },
    });
  });

  test('by mps has a pinned limit, a part of the threads, and the daemon of the node', () => {
    const devices = toDeviceRequest([device('GPU-a', { sharing: 'mps', ...share(6 * GIB, 8 * GIB) })], place);
    expect(devices?.request).toMatchObject({
      driver: 'nvidia',
      deviceIds: ['GPU-a'],
      environment: {
        NVIDIA_VISIBLE_DEVICES: 'GPU-a',
        CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: '0=8192M',
        CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '25',
        CUDA_MPS_PIPE_DIRECTORY: '/run/nvidia-mps/pipe',
        CUDA_MPS_LOG_DIRECTORY: '/run/nvidia-mps/log',
        BERTH_GPU_MEMORY_BYTES: String(8 * GIB),
        BERTH_GPU_SHARING: 'mps',
        BERTH_GPU_GUARANTEES: 'memory enforced, compute together, faults shared',
      },
    });
    expect(devices?.mounts).toEqual([
      { source: '/run/nvidia-mps', target: '/run/nvidia-mps', readOnly: false },
      { source: '/dev/shm', target: '/dev/shm', readOnly: false },
    ]);
  });

  test('by memory-limit tells the driver its limit in MiB, by way of the container device interface', () => {
    const devices = toDeviceRequest([device('GPU-a', { sharing: 'memory-limit', ...share(6 * GIB, 8 * GIB) })], place);
    expect(devices).toEqual({
      request: {
        driver: 'nvidia-cdi',
        deviceIds: ['GPU-a'],
        environment: {
          NVIDIA_GPU_MEMORY_REQUEST: '6144',
          NVIDIA_GPU_MEMORY_LIMIT: '8192',
          BERTH_GPU_COUNT: '1',
          BERTH_GPU_MEMORY_BYTES: String(8 * GIB),
          BERTH_GPU_SHARING: 'memory-limit',
          BERTH_GPU_GUARANTEES: 'memory enforced, compute in-turns, faults isolated',
        },
      },
      mounts: [],
    });
  });

  test('by none is told its memory, and nothing keeps it to that', () => {
    expect(requestOf(device('GPU-a', share(6 * GIB)))).toEqual({
      driver: 'nvidia',
      deviceIds: ['GPU-a'],
      environment: {
        NVIDIA_VISIBLE_DEVICES: 'GPU-a',
        BERTH_GPU_COUNT: '1',
        BERTH_GPU_MEMORY_BYTES: String(6 * GIB),
        BERTH_GPU_SHARING: 'none',
        BERTH_GPU_GUARANTEES: 'memory not-enforced, compute in-turns, faults isolated',
      },
    });
  });

  test.each(['mig', 'mps', 'memory-limit', 'none'] as const)('of a simulated device (%s) only tells', (sharing) => {
    const devices = toDeviceRequest([device('sim-0', { sharing, ...share(6 * GIB) })], place);
    expect(devices?.mounts).toEqual([]);
    expect(devices?.request.driver).toBe('simulated');
    expect(Object.keys(devices?.request.environment ?? {}).every((name) => name.startsWith('BERTH_'))).toBe(true);
    expect(devices?.request.environment).toMatchObject({
      BERTH_GPU_SHARING: sharing,
      BERTH_GPU_GUARANTEES: expect.stringMatching(/^simulated: memory /),
    });
  });

  const units: readonly [title: string, changes: Partial<OrderedDevice>, want: Readonly<Record<string, string>>][] = [
    [
      'a limit between two units is set as the lower one',
      { sharing: 'mps', ...share(6 * GIB + MIB - 1) },
      { CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: '0=6144M', BERTH_GPU_MEMORY_BYTES: String(6 * GIB + MIB - 1) },
    ],
    [
      'the driver is told the lower unit, too',
      { sharing: 'memory-limit', ...share(6 * GIB + MIB - 1, 7 * GIB + 1) },
      { NVIDIA_GPU_MEMORY_REQUEST: '6144', NVIDIA_GPU_MEMORY_LIMIT: '7168' },
    ],
    [
      'a third of the memory is 33 percent of the threads',
      { sharing: 'mps', ...share(8 * GIB) },
      { CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '33' },
    ],
    [
      'less than a hundredth is one percent, since zero would be all',
      { sharing: 'mps', ...share(100 * MIB) },
      { CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '1' },
    ],
    [
      'the threads go by what was promised, not by the limit',
      { sharing: 'mps', ...share(12 * GIB, 24 * GIB) },
      { CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: '50' },
    ],
    [
      'no limit is above what the device has',
      { sharing: 'memory-limit', ...share(12 * GIB, 100 * GIB) },
      { NVIDIA_GPU_MEMORY_LIMIT: String(24 * 1024), BERTH_GPU_MEMORY_BYTES: String(24 * GIB) },
    ],
  ];
  for (const [title, changes, want] of units) {
    test(`in units: ${title}`, () => expect(requestOf(device('GPU-a', changes))?.environment).toMatchObject(want));
  }
});

describe('what cannot be one container is refused', () => {
  const [half, real, sim] = [share(12 * GIB), device('GPU-a'), device('sim-1', { index: 1 })];
  test.each([
    ['real and simulated devices', [real, sim], 'cannot be in one container'],
    ['a share beside another device', [device('GPU-b', half), real], 'alone in its container'],
    ['a limit below the unit of mps', [device('GPU-a', { sharing: 'mps', ...share(MIB - 1) })], 'below 1 MiB'],
    ['a limit below that of the driver', [device('GPU-a', { sharing: 'memory-limit', ...share(1) })], 'below 1 MiB'],
  ])('%s', (_title, devices, message) => {
    expect(() => toDeviceRequest(devices, place)).toThrow(RangeError);
    expect(() => toDeviceRequest(devices, place)).toThrow(message);
  });
});

test('the container adapter takes a request as it is', () => {
  expectTypeOf<DeviceRequest>().toExtend<DeviceRequestSpec>();
});
