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
