import type { Rollout, RolloutGround, RolloutTurn } from './rollout.js';
import { failsAtMs, soonest } from './rollout-bounds.js';
import { type Counts, keptOf, wantedOf, weigh } from './rollout-counts.js';

/** The weight of the step that stands; 100 after the last one. Blue-green is a canary with one step of no weight. */
export const stepPercent = ({ strategy, step }: Pick<Rollout, 'strategy' | 'step'>): number => {
  if (strategy.kind === 'canary') return strategy.steps[step]?.percent ?? 100;
  return strategy.kind === 'blue-green' && step === 0 ? 0 : 100;
};

/** While a step is not ready, the weight of the one before stands. */
export const standingPercent = (rollout: Rollout): number =>
  rollout.readySinceMs !== null ? stepPercent(rollout) : previousPercent(rollout);

const previousPercent = ({ strategy, step }: Rollout): number =>
  step === 0 || strategy.kind !== 'canary' ? 0 : (strategy.steps[step - 1]?.percent ?? 0);

const holdOf = ({ strategy, step }: Rollout): number | null => {
  if (strategy.kind === 'canary') return strategy.steps[step]?.holdMs ?? null;
  return strategy.kind === 'blue-green' && step === 0 ? strategy.promoteAfterMs : null;
};

/** Blue-green's target is there whole; a canary's as far as its weight needs it. At least one, at most all that are wanted. */
export const neededOf = (rollout: Rollout, count: number): number =>
  rollout.strategy.kind === 'blue-green'
    ? count
    : Math.min(count, Math.max(1, Math.ceil((count * stepPercent(rollout)) / 100)));

/** Old ones are there whole until the last step is ready; then all of them leave at once. */
export function steppedTurn(rollout: Rollout, ground: RolloutGround, counts: Counts): RolloutTurn {
  const { count, nowMs } = ground;
  const percent = stepPercent(rollout);
  const needed = neededOf(rollout, count);
  const isReady = counts.targetProven >= needed;
  const readySinceMs = isReady ? (rollout.readySinceMs ?? nowMs) : null;
  const isDone = percent >= 100 && isReady;
  const holdMs = holdOf(rollout);
  const isOver = isReady && (rollout.promoted || (holdMs !== null && nowMs - (readySinceMs ?? nowMs) >= holdMs));
  const moved = isOver && !isDone;
  const turned = isReady !== (rollout.readySinceMs !== null);
  const others = isDone ? 0 : Math.min(counts.othersServing, Math.max(0, count - counts.fromServing));
  const next = {
    step: moved ? rollout.step + 1 : rollout.step,
    readySinceMs: moved ? null : readySinceMs,
    promoted: moved ? false : rollout.promoted,
    served: rollout.served,
    progressMs: moved || turned ? nowMs : rollout.progressMs,
  };
  const kept = {
    target: Math.min(count, Math.max(needed, counts.targetServing)),
    from: isDone ? 0 : Math.max(0, count - others),
    others,
  };
  return {
    wanted: wantedOf(rollout, kept, counts),
    weights: weigh(rollout, isReady ? percent : previousPercent(rollout), keptOf(counts, kept)),
    next,
    verdict: isDone ? 'done' : 'goes-on',
    because: `step ${rollout.step + 1}, ${percent} %: ${counts.targetServing} of ${needed} of revision ${rollout.target} serve`,
    nextMs: isDone ? null : nextMsOf({ ...rollout, ...next }, ground, { holdMs, nextProvenMs: counts.nextProvenMs }),
  };
}

function nextMsOf(
  rollout: Rollout,
  ground: RolloutGround,
  { holdMs, nextProvenMs }: Pick<Counts, 'nextProvenMs'> & { readonly holdMs: number | null },
): number | null {
  const { readySinceMs } = rollout;
  if (readySinceMs === null) return soonest(nextProvenMs, failsAtMs(rollout, ground));
  return holdMs === null ? null : readySinceMs + holdMs;
}
