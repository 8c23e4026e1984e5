import { expect, test } from 'vitest';
import { contractOf } from '../../src/lifecycle/gpu-contract.js';

test.each([
  [7200, '2 h'],
  [3600, '1 h'],
  [5400, '90 min'],
  [105_840, '29 h 24 min'],
  [127_008, '35 h 16 min 48 s'],
  [90, '90 s'],
  [0.5, '0.5 s'],
])('a minimum runtime of %d s is told as %s', (minRuntimeSeconds, told) => {
  const { allocated, message } = contractOf({
    budget: 'a',
    minRuntimeSeconds,
    graceSeconds: 10,
    unallocatedGraceSeconds: 30,
  });
  expect(allocated).toBe(true);
  expect(message).toContain(`protected for its first ${told}; after that it may be stopped, with 10 s' notice`);
});
