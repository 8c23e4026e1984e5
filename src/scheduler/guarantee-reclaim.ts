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
  const isOfOthers = ({ session, gpuCount }: Candidate): boolean => gpuCount > 0 && holderOf(book, session) !== holder;
  return {
    key: `reclaim:${holder}:${policy?.key ?? ''}`,
    takesBack: true,
    mayStop: (candidate) => isOfOthers(candidate) || (policy?.mayStop(candidate) ?? false),
    compare,
    whom: `on what is lent of the ${share}${policy === null ? '' : `, or ${policy.whom}`}`,
    because: (candidate) =>
      isOfOthers(candidate) ? `it runs on what is lent of the ${share}` : (policy?.because(candidate) ?? ''),
  };
}

export interface Sheltered {
  readonly open: readonly Candidate[];
  readonly closed: readonly Candidate[];
}

interface Asking {
  readonly session: Pick<SnapshotPending, 'kind' | 'projectId'>;
  readonly rule: Pick<VictimRule, 'takesBack'>;
}

/**
 * Who is within its own guarantee loses nothing to others: in the given order a candidate of a guaranteed holder is open as long as
 * those that are open already and it may go together.
 */
export function shelter(book: GuaranteeBook | null, candidates: readonly Candidate[], asking: Asking): Sheltered {
  if (book === null) return { open: candidates, closed: [] };
  const own = holderOf(book, asking.session);
  const taken = new Map<Holder, Taken>();
  const open: Candidate[] = [];
  const closed: Candidate[] = [];
  for (const candidate of candidates) {
    const holder = holderOf(book, candidate.session);
    if (holder === own || candidate.gpuCount === 0 || !book.guarantees.has(holder)) {
      open.push(candidate);
      continue;
    }
    const more = withOneMore(taken.get(holder), candidate.gpuCount);
    const mayGo = isLent(book, holder, { taken: more, asking });
    (mayGo ? open : closed).push(candidate);
    if (mayGo) taken.set(holder, more);
  }
  return { open, closed };
}

/** Whether these victims may go together. */
export function spares(book: GuaranteeBook, victims: readonly Candidate[], asking: Asking): boolean {
  const own = holderOf(book, asking.session);
  const taken = new Map<Holder, Taken>();
  for (const { session, gpuCount } of victims) {
    const holder = holderOf(book, session);
    if (holder !== own && gpuCount > 0 && book.guarantees.has(holder))
      taken.set(holder, withOneMore(taken.get(holder), gpuCount));
  }
  return [...taken].every(([holder, each]) => isLent(book, holder, { taken: each, asking }));
}

/** GPUs of victims of one holder: in sum, of the smallest, of the largest. */
interface Taken {
  readonly sum: number;
  readonly least: number;
  readonly most: number;
}

const withOneMore = (taken: Taken | undefined, gpus: number): Taken =>
  taken === undefined
    ? { sum: gpus, least: gpus, most: gpus }
    : { sum: taken.sum + gpus, least: Math.min(taken.least, gpus), most: Math.max(taken.most, gpus) };

/**
 * All but the last of them leave the holder more than it is guaranteed; the last may straddle the limit. For one that takes back
 * what it is guaranteed the last is the largest. For others it is each of them: none could take its GPUs back as guaranteed,
 * and stop in its turn who stopped it.
 */
function isLent(
  book: GuaranteeBook,
  holder: Holder,
  { taken, asking }: { readonly taken: Taken; readonly asking: Asking },
): boolean {
  const lent = (book.use.get(holder) ?? 0) - (book.guarantees.get(holder)?.gpuCount ?? 0);
  return taken.sum - (asking.rule.takesBack === true ? taken.most : taken.least) < lent;
}
