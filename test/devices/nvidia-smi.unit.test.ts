import { expect, test } from 'vitest';
import { createNvidiaProvider, type NvidiaOptions } from '../../src/devices/nvidia-smi.js';
import { recorded } from './recording.js';

const MIB = 1024 * 1024;

/** Its watch began at second 100 after boot. */
const provider = (file: string, options: NvidiaOptions = {}) =>
  createNvidiaProvider(recorded(file), { watchedFromSeconds: 100, ...options });

/** One line a device: place, model, memory in MiB, and how it is. */
async function described(file: string): Promise<readonly string[]> {
  const devices = await provider(file).discover();
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
  ['knows small GPUs', 'l4-t4', ['0 NVIDIA L4 23034 healthy', '1 Tesla T4 15360 healthy']],
  [
    'reads a mixed machine, and gives out nothing whose MIG mode is about to change',
    'mixed',
    [
      '0 NVIDIA H200 MIG 1g.18gb 16384 part healthy',
      '1 NVIDIA L40S 46068 healthy',
      '2 NVIDIA A100 80GB PCIe 81920 MIG mode is Disabled, and Enabled after its next reset',
    ],
  ],
  [
    'says of each broken GPU what is wrong with it',
    'errors',
    [
      'it has 2 uncorrectable memory errors (ECC) since its last reset',
      'a row of its memory could not be remapped',
      'a row of its memory waits to be remapped by a reset',
      'the driver asks for a reset',
      'the driver asks for recovery: Node Reboot',
      'Xid 119: its firmware does not answer (GSP)',
      'healthy',
    ].map((state, index) => `${index} NVIDIA A100-SXM4-80GB 81920 ${state.replace('it has ', '')}`),
  ],
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

const sharingCases: readonly [title: string, file: string, options: NvidiaOptions, want: readonly string[]][] = [
  ['is none unless it is configured', 'l4-t4', {}, ['none', 'none']],
  ['goes by the place that nvidia-smi counts', 'l4-t4', { sharing: { 1: 'mps' } }, ['none', 'mps']],
  [
    'goes by the UUID before the place, and by that before all',
    'l4-t4',
    { sharing: { all: 'none', 0: 'none', 'GPU-3f1c6a52-2a5f-4a1e-9f0a-0c6d7ab1f2e0': 'mps' } },
    ['mps', 'none'],
  ],
  [
    'is mig of each instance, whatever is configured',
    '4xa100-mig',
    { sharing: { all: 'mps' } },
    ['mig', 'mig', 'mig', 'mig', 'mps', 'mig'],
  ],
  [
    'is a limit of the driver where it keeps one',
    'l4-t4',
    { sharing: { all: 'memory-limit' }, hasCgroup2: true },
    ['memory-limit', 'memory-limit'],
  ],
  [
    'is not called a limit without cgroups of version 2',
    'l4-t4',
    { sharing: { 0: 'memory-limit' }, hasCgroup2: false },
    ['none: memory-limit needs cgroups of version 2', 'none'],
  ],
  [
    'is not called a limit under a driver that keeps none',
    'rtx',
    { sharing: { 0: 'memory-limit' }, hasCgroup2: true },
    ['none: memory-limit needs driver 615 or newer, and this is 535.183.01', 'none'],
  ],
];
for (const [title, file, options, want] of sharingCases) {
  test(`the sharing of a GPU ${title}`, async () => {
    const devices = await provider(file, options).discover();
    expect(
      devices.map(({ sharing, sharingFault }) => (sharingFault ? `${sharing}: ${sharingFault}` : sharing)),
    ).toEqual(want);
  });
}

test('a GPU that was there and is lost is a fault, as is one that answers with errors', async () => {
  const now = await provider('lost-gpu').discover();
  const [first] = now;
  const known = [...now.map((device) => ({ ...device, healthy: true })), { ...first!, id: 'GPU-lost' }];
  expect(await provider('lost-gpu').faults(known)).toEqual([
    { id: 'GPU-ae97ba94-d0ed-482f-8f6d-05584ef8aa38', reason: 'Unknown Error' },
    { id: 'GPU-lost', reason: 'the driver does not know it any more' },
  ]);
});

test('a fault of a GPU is one of each of its instances', async () => {
  const broken = async (program: string, args: readonly string[]) => {
    const answer = await recorded('4xa100-mig')(program, args);
    if (answer === 'no-such-program') return answer;
    const row = /<pending_mig>Enabled/g;
    return { ...answer, stdout: answer.stdout.replaceAll(row, '<pending_mig>Disabled') };
  };
  const devices = await createNvidiaProvider(broken).discover();
  expect(devices.map(({ healthy }) => healthy)).toEqual([false, false, false, false, true, false]);
});

test('a driver that stops answering is told, and not taken for devices that are well', async () => {
  const known = await provider('8xh100').discover();
  await expect(provider('driver-error').faults(known)).rejects.toThrow('failed (9)');
});

test('tells what each GPU does now; nothing of one in MIG mode, and null for what the driver does not tell', async () => {
  const loads = await createNvidiaProvider(recorded('loads')).loads();
  expect(loads.map(({ id, busyPercent, memoryBytes }) => [id.slice(0, 8), busyPercent, memoryBytes])).toEqual([
    ['GPU-6513', 97, 70_211 * 2 ** 20],
    ['GPU-d23f', 0, 4 * 2 ** 20],
    ['GPU-9531', null, null],
    ['GPU-6b0d', null, null],
  ]);
});
