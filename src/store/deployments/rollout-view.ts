import type { Deployment } from '../../contract/index.js';
import type { Rollout } from '../../deployments/rollout.js';

type RolloutView = NonNullable<Deployment['rollout']>;

export interface RolloutGround {
  readonly rollout: Rollout;
  readonly startedAt: string;
  readonly message: string;
  readonly timeoutSeconds: number;
  readonly weights: Deployment['weights'];
}

/** A step that waits until somebody promotes it: it has no time of its own, and is not the last. */
export function waitsForHand({ strategy, step, promoted }: Rollout): boolean {
  if (promoted || strategy.kind === 'rolling') return false;
  if (strategy.kind === 'blue-green') return step === 0 && strategy.promoteAfterMs === null;
  const one = strategy.steps[step];
  return one !== undefined && one.percent < 100 && one.holdMs === null;
}

const stepsOf = ({ strategy }: Rollout): number =>
  strategy.kind === 'canary'
    ? strategy.steps.length + (strategy.steps.at(-1)?.percent === 100 ? 0 : 1)
    : strategy.kind === 'blue-green'
      ? 2
      : 1;

export function rolloutView({ rollout, startedAt, message, timeoutSeconds, weights }: RolloutGround): RolloutView {
  const { from, target, paused, progressMs, readySinceMs } = rollout;
  const isTimed = from !== null && !paused && readySinceMs === null;
  return {
    from,
    target,
    step: rollout.step + 1,
    steps: stepsOf(rollout),
    percent: weights.find(({ revision }) => revision === target)?.percent ?? 0,
    paused,
    waitsForPromotion: readySinceMs !== null && waitsForHand(rollout),
    startedAt,
    progressAt: new Date(progressMs).toISOString(),
    rollsBackAt: isTimed ? new Date(progressMs + timeoutSeconds * 1000).toISOString() : null,
    message,
  };
}
