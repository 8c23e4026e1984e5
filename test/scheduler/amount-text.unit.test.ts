import { expect, test } from 'vitest';
import { type AmountSlot, amountText, bareAmountText, listText } from '../../src/scheduler/amount-text.js';
import { GIB } from './build.js';

const amounts: [slot: AmountSlot, amount: number, text: string, bare: string][] = [
  ['cpuMilli', 4000, '4 CPU', '4'],
  ['cpuMilli', 500, '0.5 CPU', '0.5'],
  ['cpuMilli', 1, '0.001 CPU', '0.001'],
  ['memoryBytes', 64 * GIB, '64 GiB of memory', '64 GiB'],
  ['memoryBytes', 12.1 * GIB, '12.1 GiB of memory', '12.1 GiB'],
  ['memoryBytes', 1023, '1023 B of memory', '1023 B'],
  ['memoryBytes', 2 ** 60, '1024 PiB of memory', '1024 PiB'],
  ['gpuMemoryBytes', 24 * GIB, '24 GiB of GPU memory', '24 GiB'],
  ['gpuCount', 2, '2 GPU', '2'],
  ['sessions', 1, '1 sessions', '1'],
  ['pendingSessions', 3, '3 pending sessions', '3'],
];
test.each(amounts)('%s of %d reads %s', (slot, amount, text, bare) => {
  expect(amountText(slot, amount)).toBe(text);
  expect(bareAmountText(slot, amount)).toBe(bare);
});

test('a pinned model is named with the devices, and only there', () => {
  expect(amountText('gpuCount', 2, 'H200')).toBe('2 GPU (H200)');
  expect(amountText('cpuMilli', 2000, 'H200')).toBe('2 CPU');
});

test.each([
  [[], ''],
  [['a'], 'a'],
  [['a', 'b'], 'a and b'],
  [['a', 'b', 'c'], 'a, b and c'],
])('%j is listed as "%s"', (parts, text) => expect(listText(parts)).toBe(text));
