import type { QuotaScopeKind, QuotaSlot, QuotaViolation } from '../contract/quota.js';
import type { SnapshotPending, SnapshotQuota } from '../contract/snapshot.js';
import type { Blocker, Reason } from '../contract/why.js';
import { amountText, bareAmountText, SLOT_NOUNS } from './amount-text.js';
import type { Demand } from './demand.js';

/** Scopes and slots in the order in which violations are told. */
const SCOPES = ['user', 'project', 'domain'] as const satisfies readonly QuotaScopeKind[];
const SLOTS = [
  'gpuCount',
  'gpuMemoryBytes',
  'cpuMilli',
  'memoryBytes',
  'sessions',
] as const satisfies readonly QuotaSlot[];

export type Amounts = Readonly<Record<QuotaSlot, number>>;
type Owner = Pick<SnapshotPending, 'userId' | 'projectId' | 'domainId'>;

interface Entry {
  readonly quota: SnapshotQuota;
  /** What is held at this point of the pass: the snapshot's, and what the pass has placed since. */
  readonly held: Record<QuotaSlot, number>;
}

/** What is held under each quota, as the pass goes on. */
export interface QuotaBook {
  readonly entries: Readonly<Record<QuotaScopeKind, Map<string, Entry>>>;
}

export function quotaBook(quotas: readonly SnapshotQuota[]): QuotaBook {
  const book: QuotaBook = { entries: { user: new Map(), project: new Map(), domain: new Map() } };
  learnQuotas(book, quotas);
  return book;
}

/** Adds quotas that a later page brings. One that is known already stays: what the pass placed is counted in it. */
export function learnQuotas(book: QuotaBook, quotas: readonly SnapshotQuota[]): void {
  for (const quota of quotas) {
    const scope = book.entries[quota.scope];
    if (!scope.has(quota.id)) scope.set(quota.id, { quota, held: { ...quota.held } });
  }
}

export const amountsOf = (demand: Demand): Amounts => ({
  cpuMilli: demand.total.cpuMilli,
  memoryBytes: demand.total.memoryBytes,
  gpuCount: demand.total.gpuCount,
  gpuMemoryBytes: demand.gpuMemoryBytes,
  sessions: 1,
});

const ID_OF = { user: 'userId', project: 'projectId', domain: 'domainId' } as const;

const entryOf = (book: QuotaBook, scope: QuotaScopeKind, owner: Owner): Entry | undefined =>
  book.entries[scope].get(owner[ID_OF[scope]]);

/** Every scope and slot with held + requested > limit. A slot that the request does not ask for cannot violate. */
export function quotaViolations(book: QuotaBook, owner: Owner, requested: Amounts): QuotaViolation[] {
  const violations: QuotaViolation[] = [];
  for (const scope of SCOPES) {
    const entry = entryOf(book, scope, owner);
    if (entry === undefined) continue;
    for (const slot of SLOTS) {
      const limit = entry.quota.limits[slot];
      const overBy = entry.held[slot] + requested[slot] - (limit ?? Number.POSITIVE_INFINITY);
      if (limit === undefined || requested[slot] === 0 || overBy <= 0) continue;
      const { name } = entry.quota;
      violations.push({ scope, name, slot, held: entry.held[slot], requested: requested[slot], limit, overBy });
    }
  }
  return violations;
}

/** Counts a placed session under each of its owner's quotas. */
export function charge(book: QuotaBook, owner: Owner, requested: Amounts): void {
  for (const scope of SCOPES) {
    const entry = entryOf(book, scope, owner);
    if (entry === undefined) continue;
    for (const slot of SLOTS) entry.held[slot] += requested[slot];
  }
}

/** Scopes are in the order of precedence, so the first violation's scope is the reason. */
export function quotaReason(violations: readonly QuotaViolation[]): Reason | null {
  const first = violations[0];
  return first === undefined ? null : `${first.scope}_quota`;
}

/** `quota of project vision: GPU held 2 + 1 > 2, over by 1; …`: all of them in one sentence. */
export const quotaMessage = (violations: readonly QuotaViolation[]): string =>
  violations
    .map((violation) => {
      const { slot, held, requested, limit, overBy } = violation;
      const [heldText, wanted, cap] = [held, requested, limit].map((amount) => bareAmountText(slot, amount));
      const sum = `${SLOT_NOUNS[slot]} held ${heldText} + ${wanted} > ${cap}`;
      return `quota of ${violation.scope} ${violation.name}: ${sum}, over by ${amountText(slot, overBy)}`;
    })
    .join('; ');

export const quotaBlockers = (violations: readonly QuotaViolation[]): Blocker[] =>
  violations.map(({ scope, name, slot, held, requested, limit }) => ({
    kind: 'quota',
    scope,
    name,
    resource: slot,
    need: requested,
    used: held,
    limit,
  }));
