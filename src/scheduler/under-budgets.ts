import type { GroupPolicy } from '../contract/group-policy.js';
import type { Timestamp } from '../contract/ids.js';
import type { Snapshot, SnapshotPending, SnapshotRunning } from '../contract/snapshot.js';

/** What a session's contract means depends on these. */
export interface BudgetTerms {
  /** Open budgets without open ones below them. */
  readonly leaves: ReadonlySet<string>;
  readonly unallocatedGraceSeconds: number;
}

type Nodes = NonNullable<Snapshot['budgets']>['nodes'];

/** Passes that are made one after the other may share the nodes of one tree. */
const LEAVES = new WeakMap<Nodes, ReadonlySet<string>>();

export function termsOf({ nodes, unallocatedGraceSeconds }: NonNullable<Snapshot['budgets']>): BudgetTerms {
  let leaves = LEAVES.get(nodes);
  if (leaves === undefined) LEAVES.set(nodes, (leaves = leavesOf(nodes)));
  return { leaves, unallocatedGraceSeconds };
}

function leavesOf(nodes: Nodes): ReadonlySet<string> {
  const parents = new Set(nodes.map(({ parentId }) => parentId));
  return new Set(nodes.flatMap(({ id }) => (parents.has(id) ? [] : [id])));
}

interface Contract {
  readonly budgetId: string | null;
  readonly minRuntimeSeconds: number;
}

/** It is charged, and protected for its minimum runtime: of a session as `pendingUnder` or `runningUnder` gave it. */
export const isAllocated = ({ budgetId, minRuntimeSeconds }: Contract): boolean =>
  budgetId !== null && minRuntimeSeconds > 0;

type Bounds = Pick<SnapshotPending, 'minRuntimeSeconds' | 'maxRuntimeSeconds' | 'gracePeriodSeconds'>;

/** No minimum, and a short grace; what it would have had of its own grace beyond that still counts for its latest end. */
function unallocated<Session extends Bounds>(session: Session, { unallocatedGraceSeconds }: BudgetTerms): Session {
  const gracePeriodSeconds = Math.min(session.gracePeriodSeconds, unallocatedGraceSeconds);
  const cut = session.gracePeriodSeconds - gracePeriodSeconds;
  const { maxRuntimeSeconds: max } = session;
  if (session.minRuntimeSeconds === 0 && cut === 0) return session;
  return { ...session, minRuntimeSeconds: 0, gracePeriodSeconds, maxRuntimeSeconds: max === null ? null : max + cut };
}

/** A waiting session by its contract: what is charged to no open leaf has no minimum runtime, whatever it asked for. */
export function pendingUnder(terms: BudgetTerms, session: SnapshotPending): SnapshotPending {
  const { budgetId } = session;
  if (budgetId !== null && !terms.leaves.has(budgetId)) return unallocated({ ...session, budgetId: null }, terms);
  return isAllocated(session) ? session : unallocated(session, terms);
}

/**
 * The same of one that holds room. What started under a budget keeps its minimum though the budget was closed since.
 * Unallocated work may be stopped while it starts: it counts as started now.
 */
export function runningUnder(terms: BudgetTerms, session: SnapshotRunning, now: Timestamp): SnapshotRunning {
  if (isAllocated(session)) return session;
  const free = unallocated(session, terms);
  return free.startedAt === null ? { ...free, startedAt: now } : free;
}

/** The policy as it holds under fair share: the head of the order gets a reservation, and nothing but budgets stops anybody. */
export const policyUnder = (policy: GroupPolicy): GroupPolicy => ({
  ...policy,
  backfill: policy.backfill === 'conservative' ? 'conservative' : 'easy',
  decay: { ...policy.decay, by: 'off' },
  preemption: { ...policy.preemption, enabled: false },
  guarantees: [],
});

/** What becomes of a session that is told to go: under fair share it says so itself. */
export const thenOf = (
  { policy, isFairShare }: { readonly policy: Pick<GroupPolicy, 'preemption'>; readonly isFairShare: boolean },
  { resumable }: Pick<SnapshotRunning, 'resumable'>,
): 'requeue' | 'end' => ((isFairShare ? resumable : policy.preemption.mode === 'requeue') ? 'requeue' : 'end');
