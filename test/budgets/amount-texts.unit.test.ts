import { expect, test } from 'vitest';
import { flagDuration, gpuHoursText, gpusText, hoursText, spanText } from '../../src/budgets/amount-texts.js';
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

test('runtimes below an hour are told in minutes or seconds, and one that the command line is to take exactly', () => {
  expect([hoursText(1_200_000), hoursText(30_000), hoursText(0)]).toEqual(['20 min', '30 s', '0 h']);
  const exact = [127_008, 105_840, 3600, 45 * 60, 30, 0].map(flagDuration);
  expect(exact).toEqual(['35h16m48s', '29h24m', '1h', '45m', '30s', '0s']);
});
