import { gpuHoursText } from './amount-texts.js';
import type { BudgetForest } from './budget-forest.js';
import { isAllocated } from './fair-share-queue.js';
import { compareLoads, type GpuTime, type Load } from './gpu-time.js';
import { type OrderedRequest, type OrderLoads, partingOf } from './order-loads.js';

export interface AheadQuestion {
  readonly forest: BudgetForest;
  /** As they were when `other` was taken. */
  readonly loads: OrderLoads;
  readonly claims: ReadonlyMap<string, number>;
  /** By leaf, or by project where there is no budget. */
  readonly unallocatedUse: ReadonlyMap<string, GpuTime>;
  /** Room was held for them by an earlier pass. */
  readonly held: ReadonlySet<string>;
  readonly other: OrderedRequest;
  readonly own: OrderedRequest;
}

export const loadText = ({ load, weight }: Load): string => `${gpuHoursText(load)} for weight ${weight}`;

/** Why the order takes the one before the other, by the rule that decides between them. */
export function aheadBecause(question: AheadQuestion): string {
  const { other, own, held } = question;
  if (held.has(other.id)) return 'it was chosen before, and room is held for it';
  if (!isAllocated(own))
    return isAllocated(other) ? 'allocated work goes before unallocated work' : byFreeUse(question);
  if (!isAllocated(other)) return 'it was in the order before';
  return other.budgetId === own.budgetId ? byPlace(other, own) : byLoad(question);
}

function byPlace(other: OrderedRequest, own: OrderedRequest): string {
  return other.priority === own.priority
    ? 'of the same budget and priority, submitted earlier'
    : `of the same budget, priority ${other.priority} against ${own.priority}`;
}

function byFreeUse({ unallocatedUse, other, own }: AheadQuestion): string {
  const [theirs, ours] = [other, own].map((one) => unallocatedUse.get(one.budgetId ?? one.projectId) ?? 0);
  return theirs === ours || theirs === undefined || ours === undefined
    ? 'unallocated like this one, submitted earlier'
    : `its ${other.budgetId === null ? 'project' : 'budget'} has had ${gpuHoursText(theirs)} unallocated, this one's ${gpuHoursText(ours)}`;
}

function byLoad({ forest, loads, claims, other, own }: AheadQuestion): string {
  const claimsNothing = (request: OrderedRequest): boolean => (claims.get(request.budgetId ?? '') ?? 0) === 0;
  if (claimsNothing(own) && !claimsNothing(other)) return 'the budget of this one claims nothing: its weight is 0';
  const parting = partingOf(forest, other.budgetId ?? '', own.budgetId ?? '');
  if (parting === null) return 'it was in the order before';
  const theirs = loads.of(parting.one);
  const ours = loads.of(parting.other);
  const names = [forest.pathOf(parting.one.id), forest.pathOf(parting.other.id)];
  const sign = compareLoads(theirs, ours);
  if (sign === 0)
    return `${names[0]} and ${names[1]} have had as much for their weight, and the former's request is older`;
  if (sign > 0) return 'it was in the order before';
  return `${names[0]} has had less for its weight: ${loadText(theirs)}, ${names[1]} ${loadText(ours)}`;
}
