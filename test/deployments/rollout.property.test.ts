import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { converge } from '../../src/deployments/converge.js';
import { isLive, type Replica, serves } from '../../src/deployments/replica.js';
import { type Rollout, rolloutTurn, type Strategy } from '../../src/deployments/rollout.js';

const RUNS = Number(process.env['BERTH_PROPERTY_RUNS'] ?? 200);
const TIMEOUT_MS = 100;
/** Who serves has proven itself; nobody failed. */
const PROVEN = { provenMs: 0, targetFails: false, isGoingBack: false };
const NO_FAILURES = () => ({ inARow: 0, lastMs: 0 });

const bound = fc.oneof(
  fc.record({ count: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ percent: fc.integer({ min: 0, max: 100 }) }),
);
const strategy: fc.Arbitrary<Strategy> = fc.oneof(
  fc.record({ kind: fc.constant('rolling' as const), surge: bound, unavailable: bound }),
  fc.record({ kind: fc.constant('blue-green' as const), promoteAfterMs: fc.constant(2) }),
  fc.record({
    kind: fc.constant('canary' as const),
    steps: fc
      .uniqueArray(fc.integer({ min: 1, max: 99 }), { minLength: 1, maxLength: 4 })
      .map((percents) => percents.toSorted((a, b) => a - b).map((percent) => ({ percent, holdMs: 2 }))),
  }),
);

const serving = (id: string, revision: number, createdMs: number): Replica => ({
  id,
  revision,
  createdMs,
  startedMs: createdMs,
  servingMs: createdMs,
  route: 'ACTIVE',
  health: 'healthy',
  isRefused: false,
});

/** A deployment on a clock of turns: replicas are made and drained as asked, and become healthy if the revision is good. */
function play(given: {
  readonly count: number;
  readonly strategy: Strategy;
  readonly isGood: boolean;
  readonly delays: readonly number[];
}) {
  const { count, isGood, delays } = given;
  let replicas: readonly Replica[] = Array.from({ length: count }, (_, index) => serving(`old-${index}`, 1, index));
  let rollout: Rollout = {
    from: 1,
    target: 2,
    strategy: given.strategy,
    step: 0,
    readySinceMs: null,
    served: 0,
    progressMs: 0,
    promoted: false,
    paused: false,
  };
  const seen: { readonly serving: number; readonly live: number; readonly sum: number }[] = [];
  let made = 0;
  for (let nowMs = 0; nowMs < 400; nowMs += 1) {
    const turn = rolloutTurn(rollout, { count, replicas, nowMs, timeoutMs: TIMEOUT_MS, ...PROVEN });
    const { create, drain } = converge(turn.wanted, replicas, { failures: NO_FAILURES, nowMs });
    const leaving = new Set(drain.map(({ id }) => id));
    replicas = replicas.filter(({ id }) => !leaving.has(id));
    for (const { revision, count: missing } of create) {
      for (let index = 0; index < missing; index += 1) {
        made += 1;
        const fresh = serving(`new-${made}`, revision, nowMs);
        replicas = [
          ...replicas,
          revision === 1 ? fresh : { ...fresh, route: 'WARMING', health: 'unknown', servingMs: null },
        ];
      }
    }
    seen.push({
      serving: replicas.filter(serves).length,
      live: replicas.filter(isLive).length,
      sum: turn.weights.reduce((sum, { percent }) => sum + percent, 0),
    });
    if (turn.verdict !== 'goes-on') return { verdict: turn.verdict, replicas, seen };
    rollout = { ...rollout, ...turn.next };
    replicas = replicas.map((replica) =>
      isGood &&
      replica.route === 'WARMING' &&
      nowMs - replica.createdMs >= (delays[replica.createdMs % delays.length] ?? 1)
        ? { ...replica, route: 'ACTIVE', health: 'healthy', servingMs: nowMs }
        : replica,
    );
  }
  return { verdict: 'stuck' as const, replicas, seen };
}

const world = fc.record({
  count: fc.integer({ min: 1, max: 8 }),
  strategy,
  isGood: fc.boolean(),
  delays: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 }),
});

describe('a rollout', () => {
  test('ends: done with the target alone, or back at the revision before, all of it serving', () => {
    fc.assert(
      fc.property(world, (given) => {
        const { verdict, replicas } = play(given);
        expect(verdict).toBe(given.isGood ? 'done' : 'roll-back');
        const revision = given.isGood ? 2 : 1;
        expect(replicas.filter((replica) => replica.revision === revision && serves(replica))).toHaveLength(
          given.count,
        );
        expect(replicas).toHaveLength(given.count);
      }),
      { numRuns: RUNS },
    );
  });

  test('never has nobody that serves, and all requests go somewhere', () => {
    fc.assert(
      fc.property(world, (given) => {
        for (const each of play(given).seen) {
          expect(each.serving).toBeGreaterThanOrEqual(1);
          expect(each.sum).toBe(100);
        }
      }),
      { numRuns: RUNS },
    );
  });

  test('keeps within its bounds: what may be missing, and what may be above', () => {
    const rolling = world.filter((given) => given.strategy.kind === 'rolling');
    fc.assert(
      fc.property(rolling, (given) => {
        const { count } = given;
        const { surge, unavailable } = given.strategy as Extract<Strategy, { kind: 'rolling' }>;
        const asked = 'count' in unavailable ? unavailable.count : Math.floor((count * unavailable.percent) / 100);
        const missing = Math.min(asked, count - 1);
        const above = 'count' in surge ? surge.count : Math.ceil((count * surge.percent) / 100);
        for (const each of play(given).seen) {
          expect(each.serving).toBeGreaterThanOrEqual(count - missing);
          expect(each.live).toBeLessThanOrEqual(count + Math.max(above, missing === 0 ? 1 : 0));
        }
      }),
      { numRuns: RUNS },
    );
  });
});
