import { expect, test } from 'vitest';
import { protectedUntil, protectedUntilMs } from '../../src/lifecycle/protection.js';

test('a session is protected from its start for its minimum runtime', () => {
  const contract = { startedAt: '2026-11-30T12:00:00.000Z', minRuntimeSeconds: 90.5 };
  expect(protectedUntil(contract)).toBe('2026-11-30T12:01:30.500Z');
  expect(protectedUntilMs(contract)).toBe(Date.parse('2026-11-30T12:01:30.500Z'));
});

test('the end of the protection of one that starts is not known yet', () => {
  expect(protectedUntil({ startedAt: null, minRuntimeSeconds: 60 })).toBeNull();
});
