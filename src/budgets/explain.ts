import type { BudgetExplanation } from '../contract/budget.js';
import type { BudgetId } from '../contract/ids.js';
import { type AheadQuestion, aheadBecause, loadText } from './ahead-because.js';
import type { BudgetRow, Charge } from './budget-facts.js';
import { type BudgetSight, gpuSecondsOf } from './budget-view.js';
import { isAllocated } from './fair-share-queue.js';
import { compareLoads } from './gpu-time.js';
import { mayBeStoppedBy, type StoppableSession } from './may-be-stopped.js';
import { type OrderedRequest, OrderLoads } from './order-loads.js';

/** More than this of those ahead, and of the charges behind it, are not told. */
const TOLD_MAX = 50;

/** All that is known of a session, its group's order and its tree, of one moment. */
export interface ExplainQuestion extends Pick<AheadQuestion, 'unallocatedUse' | 'held'> {
  readonly session: StoppableSession & { readonly id: BudgetExplanation['sessionId'] };
  readonly group: string;
  readonly sight: BudgetSight;
  /** Those that wait, in the order in which the pass considers them. */
  readonly order: readonly OrderedRequest[];
  /** Of those, the ones that get their room or hold the claim time. Those of `held` are chosen before them all. */
  readonly chosen: ReadonlySet<string>;
}

type Compared = Pick<ExplainQuestion, 'session' | 'sight' | 'order' | 'held'>;

/** As the pass has them when it begins to compare. */
const loadsAtFirst = ({ sight, order, held }: Pick<Compared, 'sight' | 'order' | 'held'>): OrderLoads =>
  new OrderLoads(
    sight,
    order.filter(({ id }) => held.has(id)),
  );

type Forks = BudgetExplanation['forks'];
type Ahead = BudgetExplanation['ahead'];

/** Why a session stands where it stands. `charges` are those of `chargedLeaves`, largest first. */
export function explain(question: ExplainQuestion, charges: readonly Charge[]): BudgetExplanation {
  const { session, sight, order } = question;
  const at = sight.facts.at;
  const index = order.findIndex(({ id }) => id === session.id);
  const allocated = session.budgetId !== null && session.minRuntimeMs > 0;
  const forks = forksOf(question);
  const ahead = aheadOf(question, index);
  return {
    sessionId: session.id,
    at,
    budget: session.budgetId === null ? null : sight.forest.pathOf(session.budgetId),
    allocated,
    position: index === -1 ? null : index + 1,
    message: messageOf(question, { index, allocated, ahead }),
    forks,
    ahead,
    charges: charges.slice(0, TOLD_MAX).map((charge) => shownCharge(sight, charge)),
    protectedUntil: session.protectedUntilMs === null ? null : new Date(session.protectedUntilMs).toISOString(),
    mayBeStoppedBy: mayBeStoppedBy(sight, session, Date.parse(at)),
  };
}

/** At each fork from the root to its leaf every sibling, the least load / weight first, as the order takes them. */
function forksOf(question: ExplainQuestion): Forks {
  const { session, sight, order } = question;
  const { forest } = sight;
  const path = pathOf(sight, session.budgetId);
  const onPath = new Set<string>(path.map(({ id }) => id));
  const pending = pendingBelow(sight, order);
  const loads = loadsAtFirst(question);
  return path.slice(0, -1).map((parent) => ({
    below: forest.pathOf(parent.id),
    siblings: forest
      .childrenOf(parent.id)
      .toSorted((a, b) => compareLoads(loads.of(a), loads.of(b)))
      .map((row) => {
        const { use } = sight.sumsOf(row.id);
        const { load } = loads.of(row);
        return {
          budget: forest.pathOf(row.id),
          weight: row.weight,
          usedGpuSeconds: gpuSecondsOf(use),
          committedGpuSeconds: gpuSecondsOf(load - use),
          loadPerWeight: row.weight === 0 ? null : gpuSecondsOf(load) / row.weight,
          pendingSessions: pending.get(row.id) ?? 0,
          isOnPath: onPath.has(row.id),
        };
      }),
  }));
}

/** From the root to the leaf. */
const pathOf = ({ forest }: BudgetSight, budgetId: string | null): readonly BudgetRow[] =>
  budgetId === null ? [] : forest.lineOf(budgetId).toReversed();

/** How many with allocated work wait below each budget. */
function pendingBelow({ forest }: BudgetSight, order: readonly OrderedRequest[]): ReadonlyMap<string, number> {
  const pending = new Map<string, number>();
  for (const request of order.filter(isAllocated)) {
    for (const { id } of forest.lineOf(request.budgetId ?? '')) pending.set(id, (pending.get(id) ?? 0) + 1);
  }
  return pending;
}

/** Each with the loads of the moment at which it was taken: every choice before it counts. */
function aheadOf({ sight, order, chosen, unallocatedUse, held }: ExplainQuestion, index: number): Ahead {
  const own = order[index];
  if (own === undefined) return [];
  const loads = loadsAtFirst({ sight, order, held });
  const { forest, claims } = sight;
  const ahead: Ahead = [];
  for (const other of order.slice(0, index)) {
    if (ahead.length === TOLD_MAX) break;
    const because = aheadBecause({ forest, loads, claims, unallocatedUse, held, other, own });
    ahead.push({ sessionId: other.id as Ahead[number]['sessionId'], name: other.name, because });
    if (chosen.has(other.id) && !held.has(other.id)) loads.choose(other);
  }
  return ahead;
}

/**
 * The leaves whose charges say why: those below its own branch and below the one that goes first, at the uppermost fork
 * where another goes first; at its leaf's fork when none does.
 */
export function chargedLeaves(question: ExplainQuestion): readonly BudgetId[] {
  const { session, sight } = question;
  const path = pathOf(sight, session.budgetId);
  const fork = decisiveFork(question);
  const tops = fork === null ? path.slice(-1) : [fork.own, fork.first];
  const ids = new Set<string>(tops.map(({ id }) => id));
  return sight.facts.leaves.flatMap(({ id }) =>
    sight.forest.lineOf(id).some((above) => ids.has(above.id)) ? [id] : [],
  );
}

interface Fork {
  readonly parent: BudgetRow;
  readonly own: BudgetRow;
  readonly first: BudgetRow;
}

function decisiveFork(question: Compared): Fork | null {
  const { session, sight, order } = question;
  const pending = pendingBelow(sight, order);
  const loads = loadsAtFirst(question);
  const path = pathOf(sight, session.budgetId);
  for (const [depth, own] of path.entries()) {
    const parent = path[depth - 1];
    if (parent === undefined) continue;
    const [first] = sight.forest
      .childrenOf(parent.id)
      .filter(({ id }) => id !== own.id && (pending.get(id) ?? 0) > 0)
      .toSorted((a, b) => compareLoads(loads.of(a), loads.of(b)));
    if (first !== undefined && compareLoads(loads.of(first), loads.of(own)) < 0) return { parent, own, first };
  }
  return null;
}

interface Place {
  readonly index: number;
  readonly allocated: boolean;
  readonly ahead: Ahead;
}

function messageOf(question: ExplainQuestion, { index, allocated, ahead }: Place): string {
  const { session, sight, group, order } = question;
  const path = session.budgetId === null ? null : sight.forest.pathOf(session.budgetId);
  if (index === -1) {
    if (session.state === 'ended') return 'it has ended: nothing more is charged';
    if (session.state === 'waiting') return `it is not in line in ${group} now`;
    return allocated ? `it holds its room, charged to ${path}` : 'it holds its room, unallocated: charged to nothing';
  }
  const place = `place ${index + 1} of ${order.length} in ${group}`;
  if (!allocated) return `${place}: unallocated work goes after all allocated work, the least unallocated use first`;
  if (question.held.has(session.id)) return `${place}: it was chosen before, and room is held for it`;
  if (index > 0 && (sight.claims.get(session.budgetId ?? '') ?? 0) === 0)
    return `${place}: ${path} claims nothing, its weight or one above it is 0: it goes after all that do`;
  const fork = decisiveFork(question);
  if (fork !== null) return `${place}: ${forkText(question, fork)}`;
  const own = ahead.filter((_one, at) => order[at]?.budgetId === session.budgetId).length;
  if (index === 0) return `${place}: ${path} has had the least for its weight at each fork`;
  return own === ahead.length
    ? `${place}: behind ${own} of its own budget, by priority, then submission`
    : `${place}: what was chosen before it counts for its branch`;
}

function forkText(question: Compared, { parent, own, first }: Fork): string {
  const { forest } = question.sight;
  const loads = loadsAtFirst(question);
  const text = (row: BudgetRow): string => `${forest.pathOf(row.id)} has had ${loadText(loads.of(row))}`;
  return `below ${forest.pathOf(parent.id)} ${forest.pathOf(first.id)} goes first: ${text(first)}, ${text(own)}`;
}

const shownCharge = ({ forest }: BudgetSight, charge: Charge): BudgetExplanation['charges'][number] => ({
  sessionId: charge.sessionId,
  name: charge.name,
  user: charge.user,
  budget: forest.pathOf(charge.budgetId),
  gpus: charge.milliGpus / 1000,
  from: charge.from,
  until: charge.until,
  gpuSeconds: gpuSecondsOf(charge.gpuTime),
});
