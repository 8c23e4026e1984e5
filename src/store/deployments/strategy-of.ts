import type { RolloutStrategy } from '../../contract/index.js';
import type { Bound, Strategy } from '../../deployments/rollout.js';

const boundOf = (bound: number | string): Bound =>
  typeof bound === 'number' ? { count: bound } : { percent: Number.parseInt(bound, 10) };

const ms = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1000);

/** In the words of the pure rules. */
export function strategyOf(wish: RolloutStrategy): Strategy {
  switch (wish.kind) {
    case 'rolling':
      return { kind: 'rolling', surge: boundOf(wish.surge), unavailable: boundOf(wish.unavailable) };
    case 'blue-green':
      return { kind: 'blue-green', promoteAfterMs: ms(wish.promoteAfterSeconds) };
    case 'canary':
      return {
        kind: 'canary',
        steps: wish.steps.map(({ percent, holdSeconds }) => ({ percent, holdMs: ms(holdSeconds) })),
      };
  }
}
