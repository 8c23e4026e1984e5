import { type BudgetTree, budgetTree } from '../budgets/budget-tree.js';
import { type DeviceKinds, deviceKinds, milliGpusAsked, milliGpusHeld } from '../budgets/charged-gpus.js';
import { claimsOf } from '../budgets/claims.js';
import {
  committedTime,
  FairShareQueue,
  type FairShareRequest,
  type FairShareState,
} from '../budgets/fair-share-queue.js';
import type { GpuTime } from '../budgets/gpu-time.js';
import type { SessionId } from '../contract/ids.js';
import type { Snapshot, SnapshotNode, SnapshotPending, SnapshotRunning } from '../contract/snapshot.js';
import { protectedUntilMs } from '../lifecycle/protection.js';
import { msOf } from './moments.js';
import type { Rights } from './stop-rights.js';
import { type BudgetTerms, isAllocated, termsOf } from './under-budgets.js';

/** Those past their minimum now, or all whose minimum ends. */
export type When = 'now' | 'inTime';

/** Whom the head of the order may stop, and what its branches had when it was chosen. */
export interface Head {
  readonly session: SnapshotPending;
  readonly rights: Rights;
  /** By budget on its way from the root. */
  readonly loads: ReadonlyMap<string, GpuTime>;
}

/** A pass under `order: fair-share`: who was handed over, and the budgets' loads as its choices change them. */
export interface FairShare {
  readonly budgets: NonNullable<Snapshot['budgets']>;
  readonly terms: BudgetTerms;
  readonly tree: BudgetTree;
  readonly claims: ReadonlyMap<string, number>;
  readonly kinds: DeviceKinds;
  /** By budget: what was charged, and what running work is protected for. */
  readonly loads: Map<string, GpuTime>;
  /** By leaf: GPUs × factor of running work past its minimum, in thousandths. Its load grows by them as time goes on. */
  readonly growth: ReadonlyMap<string, number>;
  /** Budgets with running allocated work at or below them that may be stopped: now, or once its minimum is over. */
  readonly withVictims: Readonly<Record<When, Set<string>>>;
  /** Handed over, and not looked at before the queue is read to its end. */
  readonly collected: SnapshotPending[];
  /** In the order in which they were considered. */
  readonly order: SessionId[];
  queue: FairShareQueue<SessionRequest>;
  /** Raised when the loads change: what was worked out from them is kept until then. */
  version: number;
  readonly rights: Readonly<Record<When, Map<string, { readonly version: number; readonly rights: Rights }>>>;
  readonly known: Map<string, Rights>;
  /** Of what was chosen the part that only has its claim time, by budget. It counts in the order, and makes nobody over-served before it runs. */
  readonly claimed: Map<string, GpuTime>;
  /** It holds its claim time. */
  head: Head | null;
  /** Those that stay without room, in order, by their place in the pass's `waiting`. */
  readonly unplaced: Unplaced[];
}

/** A session that waits, as the order sees it. */
export interface SessionRequest extends FairShareRequest {
  readonly session: SnapshotPending;
}

export interface Unplaced {
  readonly session: SnapshotPending;
  readonly index: number;
}

type Base = Pick<Snapshot, 'nodes' | 'running' | 'budgets'>;
type BudgetNodes = NonNullable<Snapshot['budgets']>['nodes'];

/** Passes that are made one after the other may share the nodes of one tree. */
const TREES = new WeakMap<BudgetNodes, Pick<FairShare, 'tree' | 'claims'>>();

function treeOf(nodes: BudgetNodes): Pick<FairShare, 'tree' | 'claims'> {
  const known = TREES.get(nodes);
  if (known !== undefined) return known;
  const checked = budgetTree(nodes);
  if ('problems' in checked)
    throw new Error(`no order by fair share: ${checked.problems.map(({ message }) => message).join('; ')}`);
  const made = { tree: checked.tree, claims: claimsOf(checked.tree) };
  TREES.set(nodes, made);
  return made;
}

/** null: the group does not order by fair share. The sessions are as `runningUnder` gave them. */
export function fairShareOf(base: Base, nowMs: number): FairShare | null {
  const { budgets } = base;
  if (budgets === null) return null;
  const { tree, claims } = treeOf(budgets.nodes);
  const loads = new Map(
    budgets.leaves.map(({ id, use, committedElsewhere }) => [id as string, use + committedElsewhere]),
  );
  const growth = new Map<string, number>();
  addCommitted({ loads, growth }, base, nowMs);
  const kinds = deviceKinds(
    base.nodes.flatMap(({ devices }) => devices),
    budgets.factors,
  );
  return {
    budgets,
    terms: termsOf(budgets),
    tree,
    claims,
    kinds,
    loads,
    growth,
    withVictims: { now: withVictims(tree, base.running, nowMs), inTime: withVictims(tree, base.running, Infinity) },
    collected: [],
    order: [],
    queue: new FairShareQueue(stateOf({ tree, claims, loads, budgets }), []),
    version: 0,
    rights: { now: new Map(), inTime: new Map() },
    known: new Map(),
    claimed: new Map(),
    head: null,
    unplaced: [],
  };
}

type Parts = Pick<FairShare, 'tree' | 'claims' | 'loads' | 'budgets'>;

const stateOf = ({ tree, claims, loads, budgets }: Parts): FairShareState => ({
  tree,
  loads,
  claims,
  unallocatedUse: new Map([
    ...budgets.leaves.map(({ id, unallocatedUse }) => [id as string, unallocatedUse] as const),
    ...budgets.projects.map(({ id, unallocatedUse }) => [id, unallocatedUse] as const),
  ]),
});

const add = (sums: Map<string, number>, id: string, amount: number): void => {
  sums.set(id, (sums.get(id) ?? 0) + amount);
};

/** Protected until the end of its minimum, or until it is gone if it ends before; all of it while it starts. By the factors that it is charged with. */
function addCommitted(
  { loads, growth }: { readonly loads: Map<string, GpuTime>; readonly growth: Map<string, number> },
  { nodes, running, budgets }: Base,
  nowMs: number,
): void {
  const nodeOf = new Map<string, SnapshotNode>(nodes.map((node) => [node.name, node]));
  for (const session of running) {
    if (session.budgetId === null || !isAllocated(session)) continue;
    const rooms = session.kernels.map(({ node, deviceIds, slots }) => ({
      slots,
      devices: deviceIds.map((id) => nodeOf.get(node)?.devices.find((device) => device.id === id)),
    }));
    const startMs = session.startedAt === null ? nowMs : msOf(session.startedAt);
    const run = {
      milliGpus: session.milliGpus ?? milliGpusHeld(budgets?.factors ?? {}, rooms),
      startMs,
      minRuntimeMs: Math.min(
        minRuntimeMsOf(session),
        session.goneBy === null ? Infinity : msOf(session.goneBy) - startMs,
      ),
    };
    const committed = committedTime(run, nowMs);
    add(loads, session.budgetId, committed);
    if (committed === 0) add(growth, session.budgetId, run.milliGpus);
  }
}

function withVictims(tree: BudgetTree, running: readonly SnapshotRunning[], byMs: number): Set<string> {
  const found = new Set<string>();
  for (const session of running) {
    if (session.budgetId === null || !isAllocated(session) || !session.preemptible) continue;
    if ((protectedUntilMs(session) ?? Number.MAX_VALUE) > byMs) continue;
    for (const { id } of tree.pathOf.get(session.budgetId) ?? []) found.add(id);
  }
  return found;
}

/** Whole milliseconds: GPU-time is an integer. */
const minRuntimeMsOf = ({ minRuntimeSeconds }: { readonly minRuntimeSeconds: number }): number =>
  Math.round(minRuntimeSeconds * 1000);

/** The session as the order sees it; it is as `pendingUnder` gave it. */
export const requestOf = ({ kinds }: Pick<FairShare, 'kinds'>, session: SnapshotPending): SessionRequest => ({
  session,
  id: session.id,
  budgetId: session.budgetId,
  minRuntimeMs: minRuntimeMsOf(session),
  milliGpus: milliGpusAsked(kinds, session),
  priority: session.priority,
  submittedMs: msOf(session.submittedAt),
  projectId: session.projectId,
});

/** What was chosen counts from now on, and may be stopped once its minimum is over like what runs already. */
export function noteChosen(fair: FairShare, { budgetId, minRuntimeSeconds, preemptible }: SnapshotPending): void {
  fair.version += 1;
  if (budgetId === null || !preemptible || !isAllocated({ budgetId, minRuntimeSeconds })) return;
  for (const { id } of fair.tree.pathOf.get(budgetId) ?? []) fair.withVictims.inTime.add(id);
}

/** It was chosen, and has no room before its claim time. */
export function noteClaim(fair: FairShare, session: SnapshotPending): void {
  if (session.budgetId === null || !isAllocated(session)) return;
  const { milliGpus, minRuntimeMs } = requestOf(fair, session);
  for (const { id } of fair.tree.pathOf.get(session.budgetId) ?? []) add(fair.claimed, id, milliGpus * minRuntimeMs);
}

/** The order of those that wait beside the choices that were made already. */
export function orderThem(
  fair: FairShare,
  pending: readonly SnapshotPending[],
  chosen: readonly SnapshotPending[],
): void {
  for (const session of chosen) {
    noteChosen(fair, session);
    if (session.budgetId === null || !isAllocated(session)) continue;
    const { milliGpus, minRuntimeMs } = requestOf(fair, session);
    fair.loads.set(session.budgetId, (fair.loads.get(session.budgetId) ?? 0) + milliGpus * minRuntimeMs);
  }
  fair.queue = new FairShareQueue(
    stateOf(fair),
    pending.map((session) => requestOf(fair, session)),
  );
  fair.version += 1;
}
