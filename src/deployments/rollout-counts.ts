import type { Wanted } from './converge.js';
import { isSound, type Replica, servedMs, serves } from './replica.js';
import type { Rollout, RolloutGround, RolloutTurn } from './rollout.js';

interface Serving {
  readonly revision: number;
  readonly serving: number;
}

/** Sound replicas by where they belong: to the target, to the last good revision, or to one that was on its way between them. */
export interface Counts {
  readonly targetLive: number;
  readonly targetServing: number;
  /** Serve for so long that others may leave for them, and every gateway reaches them. */
  readonly targetProven: number;
  readonly fromLive: number;
  readonly fromServing: number;
  readonly others: readonly Serving[];
  readonly othersServing: number;
  /** The next moment at which one more of the target is proven. */
  readonly nextProvenMs: number | null;
}

export function countsOf(
  { from, target }: { readonly from: number | null; readonly target: number },
  { replicas, nowMs, provenMs }: Pick<RolloutGround, 'replicas' | 'nowMs' | 'provenMs'>,
): Counts {
  const sound = replicas.filter(isSound);
  const targets = sound.filter(({ revision }) => revision === target);
  const froms = sound.filter(({ revision }) => revision === from && revision !== target);
  const rest = sound.filter((replica) => replica.revision !== target && replica.revision !== from && serves(replica));
  const serving = targets.filter(serves);
  const reached = serving.filter(({ isRefused }) => !isRefused);
  const unproven = reached.filter((replica) => servedMs(replica, nowMs) < provenMs);
  const revisions = [...new Set(rest.map(({ revision }) => revision))].toSorted((a, b) => b - a);
  const provenAt = unproven.map(({ servingMs }) => (servingMs ?? nowMs) + provenMs);
  return {
    targetLive: targets.length,
    targetServing: serving.length,
    targetProven: reached.length - unproven.length,
    fromLive: froms.length,
    fromServing: froms.filter(serves).length,
    others: revisions.map((revision) => ({ revision, serving: countOf(rest, revision) })),
    othersServing: rest.length,
    nextProvenMs: provenAt.length === 0 ? null : Math.min(...provenAt),
  };
}

const countOf = (replicas: readonly Replica[], of: number): number =>
  replicas.filter(({ revision }) => revision === of).length;

/** The target first; then so many of the last good revision, and of the others so many as serve and are needed. */
export function wantedOf(
  { from, target }: Pick<Rollout, 'from' | 'target'>,
  count: Kept,
  counts: Counts,
): readonly Wanted[] {
  const kept = keptOf(counts, count).others.map(({ revision, serving }) => ({ revision, count: serving }));
  const old = from === null || from === target ? [] : [{ revision: from, count: count.from }];
  return [{ revision: target, count: count.target }, ...old, ...kept];
}

/** So many of each side are wanted. */
export interface Kept {
  readonly target: number;
  readonly from: number;
  readonly others: number;
}

/** Once those leave that are not kept: of who serves, as many as are wanted. */
export function keptOf(counts: Counts, kept: Kept): Counts {
  let left = kept.others;
  const others = counts.others.map(({ revision, serving }) => {
    const stays = Math.min(left, serving);
    left -= stays;
    return { revision, serving: stays };
  });
  return {
    ...counts,
    targetServing: Math.min(counts.targetServing, kept.target),
    fromServing: Math.min(counts.fromServing, kept.from),
    others,
    othersServing: kept.others - left,
  };
}

/**
 * Percent by revision, together 100: `percent` for the target, the rest for those that leave, in proportion to who serves. All
 * goes to one side where the other has nobody that serves; nothing where nobody does.
 */
export function weigh(
  { from, target }: Pick<Rollout, 'from' | 'target'>,
  percent: number,
  { targetServing, fromServing, others }: Counts,
): RolloutTurn['weights'] {
  const old = [...(from === null ? [] : [{ revision: from, serving: fromServing }]), ...others].filter(
    ({ serving }) => serving > 0,
  );
  const share = old.length === 0 ? 100 : targetServing === 0 ? 0 : percent;
  const first = targetServing === 0 || share === 0 ? [] : [{ revision: target, percent: share }];
  return [...first, ...split(100 - share, old)];
}

function split(percent: number, among: readonly Serving[]): RolloutTurn['weights'] {
  const total = among.reduce((sum, { serving }) => sum + serving, 0);
  let [left, of] = [percent, total];
  return among
    .map(({ revision, serving }) => {
      const share = of === 0 ? 0 : Math.round((left * serving) / of);
      left -= share;
      of -= serving;
      return { revision, percent: share };
    })
    .filter((weight) => weight.percent > 0);
}
