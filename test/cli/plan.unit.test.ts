import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { planSnapshot } from '../../src/cli/plan-snapshot.js';
import { planText } from '../../src/cli/plan-text.js';

const FILE = join(import.meta.dirname, '..', 'fixtures', 'snapshots', 'queue-blocked.json');
const read = (): Record<string, unknown> => JSON.parse(readFileSync(FILE, 'utf8'));

test('a plan names who waits for what, and who is skipped behind whom', () => {
  const { plan, snapshot } = planSnapshot(read(), undefined);
  expect(plan).toMatchObject({ placed: [], skipped: 1, blockedBy: snapshot.pending[0]?.id });
  expect(planText(plan, snapshot)).toMatch(/alice {2}waiting {2}insufficient_capacity: needs 4 CPU; .*2 more needed/);
  expect(planText(plan, snapshot)).toMatch(/bob {2}skipped: behind alice \(ses_\w+\)/);
});

test('a plan of a moment is of that moment', () => {
  expect(planSnapshot(read(), '2026-12-01T00:00:00Z').plan.now).toBe('2026-12-01T00:00:00.000Z');
});

test('a file that is no snapshot is refused with each field', () => {
  expect(() => planSnapshot({ ...read(), nodes: 1 }, undefined)).toThrow(/no snapshot .*\/nodes: /);
});
