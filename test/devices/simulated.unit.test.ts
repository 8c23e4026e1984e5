import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSimulatedProvider, simulatedDevices } from '../../src/devices/simulated.js';

const GIB = 1024 ** 3;
const kind = (model: string, count: number) => ({ model, memoryBytes: 24 * GIB, count });

test('numbers simulated devices through all kinds, and says of each that it is simulated', async () => {
  const devices = await createSimulatedProvider([kind('A10', 2), kind('simulated H100', 1)]).discover();
  expect(devices.map(({ id, index, model }) => [id, index, model])).toEqual([
    ['sim-0', 0, 'simulated A10'],
    ['sim-1', 1, 'simulated A10'],
    ['sim-2', 2, 'simulated H100'],
  ]);
  expect(devices.every(({ simulated, healthy, memoryBytes }) => simulated && healthy && memoryBytes === 24 * GIB)).toBe(
    true,
  );
});

test('no declaration, no devices', () => expect(simulatedDevices([])).toEqual([]));

test.each([
  ['a part of a device', kind('A10', 1.5)],
  ['fewer than none', kind('A10', -1)],
  ['a million', kind('A10', 1_000_000)],
  ['no memory', { ...kind('A10', 1), memoryBytes: 0 }],
])('refuses %s', (_title, declared) => {
  expect(() => simulatedDevices([declared])).toThrow('whole, positive numbers');
});

test('declares how its devices are shared, and instances in the place of a device', () => {
  const instances = [
    { profile: '3g.20gb', memoryBytes: 19 * GIB, count: 1 },
    { profile: '1g.5gb', memoryBytes: 4 * GIB, count: 2 },
  ];
  const devices = simulatedDevices([
    { ...kind('A10', 1), sharing: 'mps' },
    { model: 'A100', memoryBytes: 40 * GIB, count: 2, mig: instances },
  ]);
  expect(devices.map(({ id, model, sharing, migParent }) => [id, model, sharing, migParent].join(' ').trim())).toEqual([
    'sim-0 simulated A10 mps',
    'sim-1 simulated A100 MIG 3g.20gb mig sim-parent-1',
    'sim-2 simulated A100 MIG 1g.5gb mig sim-parent-1',
    'sim-3 simulated A100 MIG 1g.5gb mig sim-parent-1',
    'sim-4 simulated A100 MIG 3g.20gb mig sim-parent-2',
    'sim-5 simulated A100 MIG 1g.5gb mig sim-parent-2',
    'sim-6 simulated A100 MIG 1g.5gb mig sim-parent-2',
  ]);
});

test('refuses instances that do not fit into their device', () => {
  const mig = [{ profile: '7g.40gb', memoryBytes: 13 * GIB, count: 2 }];
  expect(() => simulatedDevices([{ ...kind('A100', 1), mig }])).toThrow('exceed its memory');
});

test('their load is what a file says, read anew each time; none without it', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-loads-'));
  try {
    const file = join(directory, 'loads.json');
    const { loads } = createSimulatedProvider([kind('A10', 2)], file);
    const none = { busyPercent: 0, memoryBytes: 0 };
    expect(await loads()).toEqual([
      { id: 'sim-0', ...none },
      { id: 'sim-1', ...none },
    ]);
    writeFileSync(file, JSON.stringify({ 'sim-1': { busyPercent: 80, memoryBytes: GIB } }));
    expect(await loads()).toEqual([
      { id: 'sim-0', ...none },
      { id: 'sim-1', busyPercent: 80, memoryBytes: GIB },
    ]);
    for (const wrong of ['{', '{"sim-0": {"busyPercent": 101}}']) {
      writeFileSync(file, wrong);
      await expect(loads()).rejects.toThrow('cannot be used');
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});
