import { expect, test } from 'vitest';
import { planPoolSnapshot } from '../../src/cli/plan-pool-snapshot.js';
import { poolPlanText } from '../../src/cli/pool-plan-text.js';
import { claim, engine, NOW, pool, sleeper } from '../models/support/snapshot.js';

test('a plan of a pool is a table of decisions, each with its reason', () => {
  const engines = [sleeper('a'), engine('b', { lastResidueBytes: 2 ** 30 }), engine('c', { limitBytes: 2 ** 30 * 18 })];
  const claims = [claim('a', { wakeAskedMs: NOW - 1000, lastRequestMs: NOW }), claim('d', { footprintBytes: 2 ** 40 })];
  const { plan, snapshot } = planPoolSnapshot(pool({ engines, claims }), NOW);
  const text = poolPlanText(plan, snapshot, new Date(NOW));
  expect(text).toMatch(/^sleep\s+b\s+h20-a\/0\s+makes room: a was asked for$/m);
  expect(text).toMatch(/^MakingRoom\s+a\s+b sleeps so that a can wake$/m);
  expect(text).toMatch(/^TooLargeForAnyGpu\s+d\s+needs 1034 GiB; the largest GPU of h20, h20-a\/0, has 95.1 GiB$/m);
  expect(text).toMatch(/^lower to .*\s+c\s+h20-a\/0\s+from 18/m);
});

test('a file that is no snapshot of a pool is refused with each field', () => {
  const wrong = { ...pool(), gpus: [{ name: 'a' }], policy: { placement: 'random' } };
  expect(() => planPoolSnapshot(wrong, NOW)).toThrow(
    /no snapshot of a pool .*\/policy\/placement: .*\/gpus\/0\/member: /,
  );
});
