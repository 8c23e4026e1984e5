import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planDeployment } from '../../src/deployments/plan-deployment.js';
import { serves } from '../../src/deployments/replica.js';
import type { Strategy } from '../../src/deployments/rollout.js';
import type { DeploymentSnapshot } from '../../src/deployments/turn-types.js';
import { after, dead, type Kind, liveOf, ROLLING, rolloutTo, row, servingOf, snapshotOf, tick } from './world.js';

const RUNS = Number(process.env['BERTH_PROPERTY_RUNS'] ?? 60);
const STRATEGIES: readonly Strategy[] = [
  ROLLING,
  { kind: 'rolling', surge: { count: 0 }, unavailable: { percent: 50 } },
  { kind: 'blue-green', promoteAfterMs: 3_000 },
  { kind: 'canary', steps: [20, 60].map((percent) => ({ percent, holdMs: 2_000 })) },
];

type Change =
  | { readonly kind: 'scale'; readonly to: number }
  | { readonly kind: 'apply'; readonly strategy: Strategy }
  | { readonly kind: 'kill' | 'lose'; readonly which: number }
  | { readonly kind: 'pause' | 'resume' | 'promote' };

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('scale' as const), to: fc.integer({ min: 0, max: 6 }) }),
  fc.record({ kind: fc.constant('apply' as const), strategy: fc.constantFrom(...STRATEGIES) }),
  fc.record({ kind: fc.constantFrom('kill' as const, 'lose' as const), which: fc.nat(9) }),
  fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const, 'promote' as const) }),
);

/** Changes at moments of a first minute, after which the deployment is left alone. */
const world = fc.record({
  kinds: fc.array(fc.constantFrom<Kind>('good', 'good', 'crashes', 'never'), { minLength: 12, maxLength: 12 }),
  changes: fc.array(fc.tuple(fc.nat(60), change), { maxLength: 12 }),
});
type World = typeof world extends fc.Arbitrary<infer Value> ? Value : never;

function changed(snapshot: DeploymentSnapshot, asked: Change, next: () => number): DeploymentSnapshot {
  const { rollout, replicas, nowMs } = snapshot;
  switch (asked.kind) {
    case 'scale':
      return { ...snapshot, wanted: asked.to };
    case 'apply':
      return { ...snapshot, rollout: rolloutTo(next(), { from: 1, strategy: asked.strategy, progressMs: nowMs }) };
    case 'kill':
    case 'lose': {
      const victim = liveOf(snapshot)[asked.which];
      const end = dead(asked.kind === 'kill' ? 'own' : 'platform');
      return { ...snapshot, replicas: replicas.map((one) => (one === victim ? { ...one, ...end } : one)) };
    }
    case 'promote':
      return rollout === null ? snapshot : { ...snapshot, rollout: { ...rollout, promoted: true } };
    default:
      return rollout === null ? snapshot : { ...snapshot, rollout: { ...rollout, paused: asked.kind === 'pause' } };
  }
}

/** Each turn of it, and where it ends: ten minutes of back-off and time-outs are passed by. */
function play({ kinds, changes }: World, look: (before: DeploymentSnapshot, left: DeploymentSnapshot) => void) {
  let revision = 1;
  const kindOf = (of: number): Kind => (of === 1 ? 'good' : (kinds[of - 2] ?? 'good'));
  let snapshot = snapshotOf({ wanted: 3, replicas: ['a', 'b', 'c'].map((id) => row(id)), rolloutTimeoutMs: 90_000 });
  for (let second = 0; second < 300; second += 1) {
    for (const [, asked] of changes.filter(([at]) => at === second))
      snapshot = changed(snapshot, asked, () => (revision += 1));
    if (second === 61 && snapshot.rollout?.paused === true)
      snapshot = { ...snapshot, rollout: { ...snapshot.rollout, paused: false } };
    const left = after(snapshot, planDeployment(snapshot));
    look(snapshot, left);
    snapshot = tick(left, kindOf);
  }
  return { snapshot, kindOf };
}

describe('whatever is scaled, rolled out and killed, at any moment', () => {
  test('it comes out as wanted: so many serve, all of one revision that is good, and nothing else is there', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { snapshot } = play(given, () => undefined);
        expect(servingOf(snapshot)).toHaveLength(snapshot.wanted);
        expect(snapshot.replicas).toHaveLength(snapshot.wanted);
        expect(new Set(snapshot.replicas.map(({ revision }) => revision)).size).toBeLessThanOrEqual(1);
        if (snapshot.wanted > 0) expect(snapshot.rollout).toBeNull();
      }),
      { numRuns: RUNS },
    );
  });

  test('a turn never takes the last one that serves, and the requests have somewhere to go', () => {
    fc.assert(
      fc.property(world, (given) => {
        play(given, (before, left) => {
          if (before.wanted > 0 && servingOf(before).length > 0) expect(servingOf(left).length).toBeGreaterThan(0);
          const { weights } = planDeployment(before).turn;
          const sum = weights.reduce((total, { percent }) => total + percent, 0);
          expect(sum).toBe(servingOf(left).length === 0 ? 0 : 100);
          for (const { revision } of weights)
            expect(left.replicas.some((one) => one.revision === revision && serves(one))).toBe(true);
        });
      }),
      { numRuns: RUNS },
    );
  });

  test('a second turn on what the first one left, at the same moment, changes nothing and tells nothing', () => {
    fc.assert(
      fc.property(world, (given) => {
        play(given, (_before, left) => {
          const { turn } = planDeployment(left);
          expect(turn).toMatchObject({ create: [], drain: [], stop: [], events: [], verdict: null });
          expect(turn).toMatchObject({ wanted: left.wanted, fired: null, rollout: left.rollout });
          expect(turn.failures).toEqual(left.failures);
        });
      }),
      { numRuns: RUNS },
    );
  });
});
