import type { GroupPolicy } from '../contract/group-policy.js';
import type { SnapshotPending, SnapshotRunning } from '../contract/snapshot.js';
import { protectedUntilMs } from '../lifecycle/protection.js';

/** A session that somebody might stop: it may be stopped at all, and does not end already. */
export interface Candidate {
  readonly session: SnapshotRunning;
  /** From when on, the end of its minimum runtime, in epoch milliseconds; null while it starts. */
  readonly fromMs: number | null;
  readonly startMs: number;
  /** Devices that it has, or has a share of. */
  readonly gpuCount: number;
}

/**
 * Whom a request may stop, and in which order. The order is total: two passes over one snapshot agree. It is the only
 * thing that an order of the queue by budgets replaces.
 */
export interface VictimRule {
  /** Equal for requests that may stop the same sessions in the same order: what was looked for in vain is not looked for again. */
  readonly key: string;
  /** Without its minimum runtime, which is looked at separately. */
  readonly mayStop: (candidate: Candidate) => boolean;
  readonly compare: (a: Candidate, b: Candidate) => number;
  /** It takes back what its holder is guaranteed. */
  readonly takesBack?: boolean;
  /** Where it is there, `compare` goes by it, then by `byStart`; Infinity where it may not be stopped. */
  readonly rankOf?: (candidate: Candidate) => number;
  /** `of lower priority than 50 of the same user`: whom, in words. */
  readonly whom: string;
  /** What of the requester decides, in words; its priority when omitted. */
  readonly standing?: string;
  /** Why this one, in words. */
  readonly because: (candidate: Candidate) => string;
}

export type Requester = Pick<SnapshotPending, 'id' | 'name' | 'priority' | 'userId' | 'projectId' | 'domainId'>;
type Preemption = GroupPolicy['preemption'];

/** Devices that it has whole, and those that it has a share of, each once. */
export function devicesOf({ kernels }: Pick<SnapshotRunning, 'kernels'>): number {
  let whole = 0;
  const shared = new Set<string>();
  for (const { node, deviceIds, slots } of kernels) {
    if (slots.gpuMemoryBytes === 0) whole += deviceIds.length;
    else for (const id of deviceIds) shared.add(`${node}/${id}`);
  }
  return whole + shared.size;
}

/** All that may be stopped at all, first victim first. */
export function candidatesOf(
  running: readonly SnapshotRunning[],
  compare: VictimRule['compare'],
  nowMs: number,
): readonly Candidate[] {
  const stoppable = running.filter(({ preemptible, goneBy }) => preemptible && goneBy === null);
  const candidates = stoppable.map((session): Candidate => {
    const fromMs = protectedUntilMs(session);
    const startMs = fromMs === null ? nowMs : fromMs - session.minRuntimeSeconds * 1000;
    return { session, fromMs, startMs, gpuCount: devicesOf(session) };
  });
  return candidates.toSorted(compare);
}

/** The lowest priority first; of one priority by the policy's order, then by id. */
export function victimOrder(order: Preemption['order'], nowMs: number): VictimRule['compare'] {
  const within = WITHIN_PRIORITY[order];
  return (a, b) =>
    a.session.priority - b.session.priority || within(a, b, nowMs) || (a.session.id < b.session.id ? -1 : 1);
}

const WITHIN_PRIORITY = {
  newest: (a, b) => b.startMs - a.startMs,
  oldest: (a, b) => a.startMs - b.startMs,
  'least-lost-work': (a, b, nowMs) => a.gpuCount * (nowMs - a.startMs) - b.gpuCount * (nowMs - b.startMs),
} as const satisfies Record<Preemption['order'], (a: Candidate, b: Candidate, nowMs: number) => number>;

/** Strictly lower priority, in the scope: of the same user, project or domain, or anybody. null when the policy stops nobody. */
export function policyRule(preemption: Preemption, requester: Requester, nowMs: number): VictimRule | null {
  if (!preemption.enabled) return null;
  const { scope, order } = preemption;
  const owner = ownerIn(scope, requester);
  const { priority } = requester;
  return {
    key: `${scope}:${owner}:${priority}`,
    mayStop: ({ session }) => session.priority < priority && ownerIn(scope, session) === owner,
    compare: victimOrder(order, nowMs),
    whom: `of lower priority than ${priority}${scope === 'group' ? '' : ` of the same ${scope}`}`,
    because: ({ session }) => `priority ${priority} against ${session.priority}, ${order} first`,
  };
}

const ownerIn = (scope: Preemption['scope'], owner: Pick<Requester, 'userId' | 'projectId' | 'domainId'>): string =>
  scope === 'group' ? '' : owner[`${scope}Id`];
