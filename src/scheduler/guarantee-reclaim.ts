import type { SnapshotPending } from '../contract/snapshot.js';
import { demandOf } from './demand.js';
import { type GuaranteeBook, gpusAsked } from './guarantee-book.js';
import type { Candidate, Requester, VictimRule } from './victims.js';

/** With it, the project still uses no more than it is guaranteed: what it lent comes back, whatever the policy of preemption. */
export function isEntitled(book: GuaranteeBook | null, session: SnapshotPending): book is GuaranteeBook {
  const guarantee = book?.guarantees.get(session.projectId);
  if (book === null || guarantee === undefined) return false;
  const asked = gpusAsked(book, demandOf(session));
  const own = book.promised.get(session.id);
  const used = (book.use.get(session.projectId) ?? 0) - (own?.projectId === session.projectId ? own.gpus : 0);
  return asked > 0 && used + asked <= guarantee.gpuCount;
}

interface Reclaim {
  readonly book: GuaranteeBook;
  readonly requester: Requester;
  /** Whom it may stop by the policy, if the policy stops anybody. */
  readonly policy: VictimRule | null;
  readonly compare: VictimRule['compare'];
}

/** Besides those that the policy lets it stop: whoever of another project has GPUs, of any priority and owner. */
export function reclaimRule({ book, requester, policy, compare }: Reclaim): VictimRule {
  const guarantee = book.guarantees.get(requester.projectId);
  const share = `${guarantee?.gpuCount ?? 0} GPU guaranteed to ${guarantee?.project ?? requester.projectId}`;
  const isLent = ({ session, gpuCount }: Candidate): boolean =>
    gpuCount > 0 && session.projectId !== requester.projectId;
  return {
    key: `reclaim:${requester.projectId}:${policy?.key ?? ''}`,
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
 * A project within its own guarantee loses nothing to others. In the given order each candidate of a guaranteed project is
 * open as long as those before it leave the project more than it is guaranteed.
 */
export function shelter(book: GuaranteeBook | null, candidates: readonly Candidate[], projectId: string): Sheltered {
  if (book === null) return { open: candidates, closed: [] };
  const lent = new Map<string, number>();
  const open: Candidate[] = [];
  const closed: Candidate[] = [];
  for (const candidate of candidates) {
    const { session, gpuCount } = candidate;
    const guarantee = session.projectId === projectId ? undefined : book.guarantees.get(session.projectId);
    if (guarantee === undefined || gpuCount === 0) {
      open.push(candidate);
      continue;
    }
    const left = lent.get(session.projectId) ?? (book.use.get(session.projectId) ?? 0) - guarantee.gpuCount;
    (left > 0 ? open : closed).push(candidate);
    lent.set(session.projectId, left > 0 ? left - gpuCount : left);
  }
  return { open, closed };
}

/** Whether some order of these victims leaves each guaranteed project above its guarantee until its last one is taken. */
export function spares(book: GuaranteeBook, victims: readonly Candidate[], projectId: string): boolean {
  for (const guarantee of book.guarantees.values()) {
    if (guarantee.projectId === projectId) continue;
    const gpus = victims
      .filter(({ session }) => session.projectId === guarantee.projectId)
      .map((each) => each.gpuCount);
    const sum = gpus.reduce((total, each) => total + each, 0);
    const lent = (book.use.get(guarantee.projectId) ?? 0) - guarantee.gpuCount;
    if (sum > 0 && sum - Math.max(...gpus) >= lent) return false;
  }
  return true;
}
