import { expect, expectTypeOf, test } from 'vitest';
import type { FoundDevice } from '../../src/devices/device-provider.js';
import { type DeviceRequest, toDeviceRequest } from '../../src/devices/to-device-request.js';
import type { DeviceRequestSpec } from '../../src/docker/container-spec.js';

const device = (id: string, index: number, simulated: boolean): FoundDevice => ({
  id,
  index,
  model: 'm',
  memoryBytes: 1,
  simulated,
  healthy: true,
});
const [gpuA, gpuB] = [device('GPU-a', 0, false), device('GPU-b', 1, false)];
const [sim0, sim1] = [device('sim-0', 0, true), device('sim-1', 1, true)];

const cases: readonly [title: string, devices: readonly FoundDevice[], want: DeviceRequest | undefined][] = [
  ['nothing for no device', [], undefined],
  [
    'the engine’s devices for real ones, in the order of the node',
    [gpuB, gpuA],
    {
      driver: 'nvidia',
      deviceIds: ['GPU-a', 'GPU-b'],
      environment: { NVIDIA_VISIBLE_DEVICES: 'GPU-a,GPU-b', BERTH_GPU_COUNT: '2' },
    },
  ],
  [
    'only environment for simulated ones',
    [sim0, sim1],
    {
      driver: 'simulated',
      deviceIds: ['sim-0', 'sim-1'],
      environment: { BERTH_SIMULATED_GPUS: 'sim-0,sim-1', BERTH_GPU_COUNT: '2' },
    },
  ],
];
for (const [title, devices, want] of cases) {
  test(`a container gets ${title}`, () => expect(toDeviceRequest(devices)).toEqual(want));
}

test('real and simulated devices never go to one container', () => {
  expect(() => toDeviceRequest([gpuA, sim1])).toThrow(RangeError);
});

test('the container adapter takes it as it is', () => {
  expectTypeOf<DeviceRequest>().toExtend<DeviceRequestSpec>();
});
