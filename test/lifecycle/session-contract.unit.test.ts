import { expect, test } from 'vitest';
import { sessionContract, spanText } from '../../src/lifecycle/session-contract.js';

test.each([
  [
    { budget: 'a/a1', minRuntimeSeconds: 14_400 },
    true,
    /charged to a\/a1.*within 4 h of its start.*after 30 s of notice/,
  ],
  [{ budget: 'a/a1', minRuntimeSeconds: 0 }, false, /no minimum runtime.*stopped at any time after 30 s of notice/],
  [{ budget: null, minRuntimeSeconds: 60 }, false, /no budget/],
])('%j says whether it is allocated, and what that means', (terms, allocated, message) => {
  const contract = sessionContract({ ...terms, graceSeconds: 30 });
  expect(contract.allocated).toBe(allocated);
  expect(contract.message).toMatch(message);
});

test.each([
  [127_008, '1.47 d'],
  [5400, '1.5 h'],
  [90, '1.5 min'],
  [59.999, '59.99 s'],
  [0, '0 s'],
])('%d s is told as %s, never as more than it is', (seconds, text) => expect(spanText(seconds)).toBe(text));
