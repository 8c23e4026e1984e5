import fc from 'fast-check';
import { test } from 'vitest';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { anyNodes, anyPolicy, anyQuotas, anySession } from './arbitrary.js';
import { snapshot } from './build.js';
import { TinyLedger } from './ledger.js';

type Step =
  | {
      readonly kind: 'arrive';
      readonly session: ReturnType<typeof anySession> extends fc.Arbitrary<infer Session> ? Session : never;
    }
  | { readonly kind: 'end' | 'node'; readonly pick: number; readonly state: SnapshotNode['state'] };

const MODES = ['single-node', 'multi-node'] as const;
const states = fc.constantFrom<SnapshotNode['state'][]>('READY', 'READY', 'CORDONED', 'LOST');

const anyStep = (n: number): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 4, arbitrary: anySession(n, MODES).map((session): Step => ({ kind: 'arrive', session })) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('end' as const), pick: fc.nat(), state: states }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('node' as const), pick: fc.nat(), state: states }) },
  );

const anyStream = fc
  .integer({ min: 1, max: 40 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, n) => anyStep(n))));

function apply(ledger: TinyLedger, step: Step): void {
  if (step.kind === 'arrive') ledger.pending.push(step.session);
  else if (step.kind === 'end') ledger.running.splice(step.pick % Math.max(1, ledger.running.length), 1);
  else {
    const at = step.pick % Math.max(1, ledger.nodes.length);
    ledger.nodes = ledger.nodes.map((node, i) => (i === at ? { ...node, state: step.state } : node));
  }
}

test('no amount, device or quota is ever promised twice over arrivals, ends and changes of nodes', () => {
  fc.assert(
    fc.property(anyNodes, anyQuotas, anyPolicy, anyStream, (nodes, quotas, policy, steps) => {
      const { group } = snapshot({ nodes: [], pending: [], policy });
      const ledger = new TinyLedger(nodes, quotas, group.policy);
      for (const step of steps) {
        apply(ledger, step);
        ledger.pass();
      }
    }),
    { numRuns: 200 },
  );
});
