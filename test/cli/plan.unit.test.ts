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

test('a plan tells who is stopped for whom, what is kept and reserved, who ends, and which nodes drain', () => {
  const { plan, snapshot } = planSnapshot(read(), undefined);
  const [alice, bob] = snapshot.pending;
  if (alice === undefined || bob === undefined) throw new Error('two wait');
  const kernels = [{ ...alice.kernels[0], kernelId: alice.kernels[0]?.id, node: 'n1', deviceIds: ['d0'] }];
  const victim = { id: 'ses_v', name: 'victim', version: 1 };
  const common = { version: 1, kernels };
  const decided = {
    ...plan,
    waiting: [],
    ends: [{ sessionId: bob.id, version: 1, state: 'CANCELLED', cause: 'max-wait', message: 'waited for 2 h' }],
    stops: [
      {
        sessionId: victim.id,
        version: 1,
        attempt: 1,
        cause: 'preempted',
        forSessionId: alice.id,
        then: 'requeue',
        graceSeconds: 30,
        breaksMinRuntime: false,
        message: 'lower priority',
      },
    ],
    holds: [{ ...common, sessionId: alice.id, victims: [victim.id] }],
    reservations: [{ ...common, sessionId: alice.id, at: plan.now, until: null, basis: 'victim ends by then' }],
    drains: [{ node: 'n2', message: 'it moves at 18:00' }],
    drained: ['n3'],
  } as unknown as typeof plan;
  const text = planText(decided, { ...snapshot, running: [victim] } as unknown as typeof snapshot);
  for (const line of [
    / {2}bob {2}ends {2}CANCELLED, max-wait: waited for 2 h/,
    / {2}victim {2}stopped {2}preempted for alice, 30s of grace, then back to the queue: lower priority/,
    / {2}alice {2}kept {2}n1 d0, until those leave: victim/,
    / {2}alice {2}reserved {2}n1 d0, from .* without a known end \(victim ends by then\)/,
    / {2}node n2 {2}drains {2}it moves at 18:00/,
    / {2}node n3 {2}drained/,
    /1 stopped, 1 kept, 1 reserved, 1 ended$/m,
  ]) {
    expect(text).toMatch(line);
  }
});
