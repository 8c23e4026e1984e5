import type { SnapshotPending } from '../contract/snapshot.js';
import { demandOf } from './demand.js';
import { type GuaranteeBook, gpusAsked } from './guarantee-book.js';
import { guaranteedTo, type Holder, holderOf } from './guarantee-holder.js';
import type { Candidate, Requester, VictimRule } from './victims.js';

/** With it, its project, or the deployments, still use no more than it is guaranteed: what it lent comes back, whatever the policy of preemption. */
export function isEntitled(book: GuaranteeBook | null, session: SnapshotPending): book is GuaranteeBook {
  if (book === null) return false;
  const holder = holderOf(book, session);
  const guarantee = book.guarantees.get(holder);
  if (guarantee === undefined) return false;
  const asked = gpusAsked(book, demandOf(session));
  const own = book.promised.get(session.id);
  const used = (book.use.get(holder) ?? 0) - (own?.holder === holder ? own.gpus : 0);
  return asked > 0 && used + asked <= guarantee.gpuCount;
}

interface Reclaim {
  readonly book: GuaranteeBook;
  readonly requester: Requester & Pick<SnapshotPending, 'kind'>;
  /** Whom it may stop by the policy, if the policy stops anybody. */
  readonly policy: VictimRule | null;
  readonly compare: VictimRule['compare'];
}

/** Besides those that the policy lets it stop: whoever has GPUs that is not of its guarantee, of any priority and owner. */
export function reclaimRule({ book, requester, policy, compare }: Reclaim): VictimRule {
  const holder = holderOf(book, requester);
  const guarantee = book.guarantees.get(holder);
  const whose = guarantee === undefined ? holder : guaranteedTo(guarantee);
  const share = `${guarantee?.gpuCount ?? 0} GPU guaranteed to ${whose}`;
  const isLent = ({ session, gpuCount }: Candidate): boolean => gpuCount > 0 && holderOf(book, session) !== holder;
  return {
    key: `reclaim:${holder}:${policy?.key ?? ''}`,
    mayStop: (candidate) => isLent(candidate) || (policy?.mayStop(candidate) ?? false),
    compare,
    whom: `on what is lent of the ${share}${policy === null ? '' : `, or ${policy.whom}`}`,
    because: (candidate) =>
      isLent(candidate) ? `it runs on what is lent of the ${share}` : (policy?.because(candidate) ?? ''),
  };
}

export interface Sheltered {
  readonly open: readonly Candidate[];
  readonly closed: readonly Candidate[];
}

/**
 * Who is within its own guarantee loses nothing to others. In the given order each candidate of a guaranteed holder is open as
 * long as those before it leave the holder more than it is guaranteed.
 */
export function shelter(
  book: GuaranteeBook | null,
  candidates: readonly Candidate[],
  requester: Pick<SnapshotPending, 'kind' | 'projectId'>,
): Sheltered {
  if (book === null) return { open: candidates, closed: [] };
  const asking = holderOf(book, requester);
  const lent = new Map<Holder, number>();
  const open: Candidate[] = [];
  const closed: Candidate[] = [];
  for (const candidate of candidates) {
    const { session, gpuCount } = candidate;
    const holder = holderOf(book, session);
    const guarantee = holder === asking ? undefined : book.guarantees.get(holder);
    if (guarantee === undefined || gpuCount === 0) {
      open.push(candidate);
      continue;
    }
    const left = lent.get(holder) ?? (book.use.get(holder) ?? 0) - guarantee.gpuCount;
    (left > 0 ? open : closed).push(candidate);
    lent.set(holder, left > 0 ? left - gpuCount : left);
  }
  return { open, closed };
}

/** Whether some order of these victims leaves each guaranteed holder above its guarantee until its last one is taken. */
export function spares(
  book: GuaranteeBook,
  victims: readonly Candidate[],
  requester: Pick<SnapshotPending, 'kind' | 'projectId'>,
): boolean {
  const asking = holderOf(book, requester);
  for (const [holder, guarantee] of book.guarantees) {
    if (holder === asking) continue;
    const gpus = victims.filter(({ session }) => holderOf(book, session) === holder).map((each) => each.gpuCount);
    const sum = gpus.reduce((total, each) => total + each, 0);
    const lent = (book.use.get(holder) ?? 0) - guarantee.gpuCount;
    if (sum > 0 && sum - Math.max(...gpus) >= lent) return false;
  }
  return true;
}
