import { pathText, pathTo } from '../budgets/budget-tree.js';
import { allocatedTime } from '../budgets/claims.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import type { FairShare } from './fair-share.js';
import { rightsOf } from './stop-rights.js';
import { isAllocated } from './under-budgets.js';
import type { Candidate, VictimRule } from './victims.js';

const UNALLOCATED = -1;

/**
 * Whom a session may stop under fair share. Unallocated requests stop nothing (null). An allocated one stops any unallocated
 * session, and those past their minimum whose branch is more over-served than its own where the two part; never of its own
 * budget. Unallocated first, then the most over-served branch; each with the latest start first, resumable before not.
 */
export function budgetRule(fair: FairShare, session: SnapshotPending): VictimRule | null {
  const { budgetId } = session;
  if (budgetId === null || !isAllocated(session)) return null;
  const rights = rightsOf(fair, budgetId, 'now');
  const rank = ({ session: victim }: Candidate): number =>
    victim.budgetId === null || !isAllocated(victim) ? UNALLOCATED : (rights.rankOf(victim.budgetId) ?? Infinity);
  return {
    key: rights.key,
    mayStop: (candidate) => rank(candidate) < Infinity,
    compare: (a, b) => rank(a) - rank(b) || byStart(a, b),
    rankOf: rank,
    whom: 'that are unallocated or of more over-served budgets',
    because: ({ session: victim }) =>
      victim.budgetId === null || !isAllocated(victim)
        ? 'it is unallocated, and gives way to allocated work'
        : becauseOf(fair, { victim: victim.budgetId, requester: budgetId }),
    get standing() {
      return `budget ${pathText(fair.tree, budgetId)}`;
    },
  };
}

/** Before any rank: the latest start first, then resumable before not, then by id. */
export const byStart = (a: Candidate, b: Candidate): number =>
  b.startMs - a.startMs ||
  Number(b.session.resumable) - Number(a.session.resumable) ||
  (a.session.id < b.session.id ? -1 : 1);

function becauseOf(fair: FairShare, pair: { readonly victim: string; readonly requester: string }): string {
  const { tree } = fair;
  const victim = pathTo(tree, pair.victim);
  if (victim.length === 0) return 'its budget is closed';
  const requester = pathTo(tree, pair.requester);
  const split = victim.findIndex(({ id }, depth) => id !== requester[depth]?.id);
  const over = victim[split]?.id;
  const own = requester[split]?.id;
  return over === undefined || own === undefined
    ? 'its budget has others below it now'
    : `${shareText(fair, over)} is more over-served than ${shareText(fair, own)}`;
}

/** `vision (1.2 of its share)`: used and promised, against what it may use. */
function shareText({ tree, claims, queue, budgets }: FairShare, id: string): string {
  const allocated = allocatedTime(claims.get(id) ?? 0, budgets.capacity);
  const part = allocated === 0 ? 'no share' : `${rounded(queue.load(id) / allocated)} of its share used or promised`;
  return `${pathText(tree, id)} (${part})`;
}

/** Two decimals, and two digits that count of what is less than a tenth: two small parts are still told apart. */
export const rounded = (part: number): string => String(Number(part < 0.1 ? part.toPrecision(2) : part.toFixed(2)));
