import { expect, test } from 'vitest';
import { gpuHoursText, gpusText, hoursText, spanText } from '../../src/budgets/amount-texts.js';
import { fromGpuHours } from '../../src/budgets/gpu-time.js';

test.each([
  [127_008_000, '1.47 d'],
  [5_400_000, '1.5 h'],
  [90_000, '1.5 min'],
  [59_999, '59.99 s'],
  [0, '0 s'],
])('%d ms are told as %s, never as more than they are', (ms, text) => expect(spanText(ms)).toBe(text));

test('amounts of GPUs and GPU-time have two decimals', () => {
  expect([gpusText(16_000), gpusText(1000), gpusText(333)]).toEqual(['16 GPUs', '1 GPU', '0.33 GPUs']);
  expect([gpuHoursText(fromGpuHours(2257.92)), hoursText(127_008_000)]).toEqual(['2257.92 GPU-h', '35.28 h']);
});
