import { type BudgetNode, pathTo } from '../budgets/budget-tree.js';
import { compareLoads } from '../budgets/gpu-time.js';
import { overServedBranches } from '../budgets/over-served.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import { type FairShare, requestOf, type When } from './fair-share.js';
import type { View } from './line-profile.js';
import type { Owner } from './node-line.js';
import { isAllocated } from './under-budgets.js';

/** Whose allocated work past its minimum a requester may stop. Requesters with the same rights share what is found for one. */
export interface Rights {
  /** Equal for equal rights, within a pass. */
  readonly key: string;
  /** The place among victims, 0 first: of a budget's allocated work; undefined: it may not be stopped. */
  readonly rankOf: (budgetId: string) => number | undefined;
}

/** Of allocated work that is charged to the leaf, by the loads as they are now; over those past their minimum now, or over all in time. */
export function rightsOf(fair: FairShare, leaf: string, when: When): Rights {
  const kept = fair.rights[when].get(leaf);
  if (kept !== undefined && kept.version === fair.version) return kept.rights;
  const branches = overServedBranches(fair.tree, (id) => fair.queue.load(id) - (fair.claimed.get(id) ?? 0), {
    leaf,
    among: (parentId) => childrenWithVictims(fair, when, parentId),
  });
  const key = branches.map(({ id, rank }) => `${rank}:${id}`).join();
  const rights = fair.known.get(key) ?? rightsIn(fair, { key: `b${fair.known.size}`, branches });
  fair.known.set(key, rights);
  fair.rights[when].set(leaf, { version: fair.version, rights });
  return rights;
}

/** Of a budget's children those with work below them that may be stopped; more of them as sessions are chosen. */
function childrenWithVictims(fair: FairShare, when: When, parentId: string): readonly BudgetNode[] {
  const budgets = fair.withVictims[when];
  const known = WITH_VICTIMS.get(budgets);
  const byParent =
    known !== undefined && known.asOf === budgets.size ? known.byParent : new Map<string, BudgetNode[]>();
  if (byParent !== known?.byParent) WITH_VICTIMS.set(budgets, { asOf: budgets.size, byParent });
  let children = byParent.get(parentId);
  if (children === undefined) {
    children = (fair.tree.childrenOf.get(parentId) ?? []).filter(({ id }) => budgets.has(id));
    byParent.set(parentId, children);
  }
  return children;
}

interface ByParent {
  readonly asOf: number;
  readonly byParent: Map<string, BudgetNode[]>;
}

const WITH_VICTIMS = new WeakMap<ReadonlySet<string>, ByParent>();

function rightsIn(
  { tree }: FairShare,
  { key, branches }: { readonly key: string; readonly branches: readonly { id: string; rank: number }[] },
): Rights {
  const ranks = new Map(branches.map(({ id, rank }) => [id, rank]));
  const known = new Map<string, number | undefined>();
  const look = (budgetId: string): number | undefined => {
    // What a closed budget started is of no branch: it has nobody to speak for it once its minimum is over.
    if (!tree.byId.has(budgetId)) return 0;
    for (const { id } of pathTo(tree, budgetId)) {
      const rank = ranks.get(id);
      if (rank !== undefined) return rank;
    }
    return undefined;
  };
  return {
    key,
    rankOf: (budgetId) => {
      if (!known.has(budgetId)) known.set(budgetId, look(budgetId));
      return known.get(budgetId);
    },
  };
}

/**
 * How a session sees the room in time. For allocated work, unallocated room comes back after its grace and that of more
 * over-served budgets at the end of minimum runtimes; unallocated work waits for the latest ends. Once the head holds the
 * only reservation (`isHeadsAlone`) all see what it counts on: whether they move it is all that is asked. It is soft for
 * those whom the head may stop then.
 */
export function budgetView(
  fair: FairShare,
  session: SnapshotPending,
  { nowMs, isHeadsAlone }: { readonly nowMs: number; readonly isHeadsAlone: boolean },
): Pick<View, 'key' | 'endOf' | 'isSoft'> {
  const soft = yieldsToHead(fair, session);
  const { head } = fair;
  const isSoft: View['isSoft'] = soft ? (take) => take.fromMs > nowMs && take.owner.id === head?.session.id : null;
  const rights = head !== null && isHeadsAlone ? head.rights : ownRights(fair, session);
  return {
    key: `${rights?.key},${soft}`,
    endOf: ({ owner, minMs, maxMs }) => (rights !== null && mayStop(rights, owner) ? minMs : maxMs),
    isSoft,
  };
}

const ownRights = (fair: FairShare, session: SnapshotPending): Rights | null =>
  session.budgetId === null || !isAllocated(session) ? null : rightsOf(fair, session.budgetId, 'inTime');

/** Whether somebody with these rights may stop the owner once his minimum is over. */
export const mayStop = (
  rights: Rights,
  owner: Pick<Owner, 'budgetId' | 'minRuntimeSeconds' | 'preemptible'>,
): boolean =>
  owner.preemptible && (owner.budgetId === null || !isAllocated(owner) || rights.rankOf(owner.budgetId) !== undefined);

/** Whether the head may stop the session, if that starts now, once its minimum is over: its choice counts for its branch. */
function yieldsToHead(fair: FairShare, session: SnapshotPending): boolean {
  const { head, tree } = fair;
  if (head === null || head.session.id === session.id || !session.preemptible) return false;
  if (session.budgetId === null || !isAllocated(session)) return true;
  const own = pathTo(tree, session.budgetId);
  const heads = pathTo(tree, head.session.budgetId ?? '');
  const split = own.findIndex(({ id }, depth) => id !== heads[depth]?.id);
  const over = own[split];
  const under = heads[split];
  if (over === undefined || under === undefined) return false;
  const { milliGpus, minRuntimeMs } = requestOf(fair, session);
  const load = fair.queue.load(over.id) + milliGpus * minRuntimeMs;
  return compareLoads({ load, weight: over.weight }, { load: head.loads.get(under.id) ?? 0, weight: under.weight }) > 0;
}

/** What its branches had when it was chosen: its own choice does not count against it. */
export const loadsOnPath = (fair: FairShare, leaf: string): ReadonlyMap<string, number> =>
  new Map(pathTo(fair.tree, leaf).map(({ id }) => [id, fair.queue.load(id)]));
