import { expect, test } from 'vitest';
import { createNvidiaProvider } from '../../src/devices/nvidia-smi.js';
import { recorded } from './recording.js';

const MIB = 1024 * 1024;

/** One line a device: place, model, memory in MiB, and how it is. */
async function described(file: string): Promise<readonly string[]> {
  const devices = await createNvidiaProvider(recorded(file)).discover();
  return devices.map(
    ({ index, model, memoryBytes, migParent, fault }) =>
      `${index} ${model} ${memoryBytes / MIB}${migParent ? ' part' : ''} ${fault ?? 'healthy'}`,
  );
}

const H100 = (index: number): string => `${index} NVIDIA H100 80GB HBM3 81559 healthy`;
const cases: readonly [title: string, file: string, want: readonly string[]][] = [
  ['finds eight whole GPUs', '8xh100', [0, 1, 2, 3, 4, 5, 6, 7].map(H100)],
  [
    'puts instances in the place of a GPU in MIG mode, with their exact memory',
    '4xa100-mig',
    [
      '0 NVIDIA A100-SXM4-40GB MIG 3g.20gb 19968 part healthy',
      '1 NVIDIA A100-SXM4-40GB MIG 2g.10gb 9856 part healthy',
      '2 NVIDIA A100-SXM4-40GB MIG 1g.5gb 4864 part healthy',
      '3 NVIDIA A100-SXM4-40GB MIG 1g.5gb 4864 part healthy',
      '4 NVIDIA A100-SXM4-40GB 40960 healthy',
      '5 NVIDIA A100-SXM4-40GB MIG 7g.40gb 40192 part healthy',
    ],
  ],
  [
    'takes [N/A] of the MIG mode for a GPU without MIG',
    'rtx',
    ['0 NVIDIA GeForce RTX 4090 24564 healthy', '1 NVIDIA RTX A6000 49140 healthy'],
  ],
  ['promises no memory that is not known', 'not-available-fields', ['0 NVIDIA GB10 0 memory not known']],
  [
    'keeps the others when one GPU is lost, and marks the one that answers with errors',
    'lost-gpu',
    ['0 NVIDIA L40S 46068 healthy', '1 NVIDIA L40S 46068 healthy', '2 NVIDIA L40S 0 Unknown Error'],
  ],
  ['finds none where the driver has none', 'no-devices', []],
];
for (const [title, file, want] of cases) {
  test(`nvidia-smi ${title}`, async () => expect(await described(file)).toEqual(want));
}

test.each([
  ['driver-error', /failed \(9\): NVIDIA-SMI has failed because/],
  ['version-mismatch', /failed \(18\): Failed to initialize NVML/],
])('nvidia-smi that fails (%s) is not a machine without GPUs', async (file, message) => {
  await expect(createNvidiaProvider(recorded(file)).discover()).rejects.toThrow(message);
});

test('a machine without nvidia-smi has no GPUs', async () => {
  expect(await createNvidiaProvider(async () => 'no-such-program').discover()).toEqual([]);
});

test('ids are the UUIDs that the container engine takes, and the same on each call', async () => {
  const provider = createNvidiaProvider(recorded('4xa100-mig'));
  const devices = await provider.discover();
  expect(devices.map(({ id }) => id.slice(0, 4))).toEqual(['MIG-', 'MIG-', 'MIG-', 'MIG-', 'GPU-', 'MIG-']);
  expect(new Set(devices.map(({ id }) => id)).size).toBe(6);
  expect(await provider.discover()).toEqual(devices);
});
