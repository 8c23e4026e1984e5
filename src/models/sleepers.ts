import { accountOf, heldOf, reserveOf } from './account.js';
import type { Bytes, PoolGpu, Tenant } from './tenant.js';

/** What the choice of a sleeper needs to know of an instance beside its bytes. ms of one clock. */
export interface Restfulness {
  /** The last moment with anything running, waiting or completed, or a change of phase or routing; null: it serves now, or its load could not be read. */
  readonly idleSinceMs: number | null;
  /** When it woke or became active last. */
  readonly awakeSinceMs: number;
  readonly isPinned: boolean;
  /** `sleep: never`. */
  readonly neverSleeps: boolean;
  /** What it left when it slept last; null: it never did, and what it will leave is not known. */
  readonly lastResidueBytes: Bytes | null;
}

export interface SleepRules {
  readonly restOf: (model: string) => Restfulness;
  readonly nowMs: number;
  /** Pool policy: idle for so long before it sleeps to make room, and awake for so long before it may. */
  readonly sleepToMakeRoomAfterMs: number;
}

export type NoSleep = 'serves' | 'idle-too-short' | 'awake-too-short' | 'pinned' | 'never-sleeps' | 'not-awake';

/** Why it may not be put to sleep to make room; null: it may. `inMs` is when that changes if it stays idle. */
export function whyNotSleep(
  tenant: Pick<Tenant, 'phase'>,
  rest: Restfulness,
  { nowMs, sleepToMakeRoomAfterMs }: Omit<SleepRules, 'restOf'>,
): { readonly why: NoSleep; readonly inMs: number | null } | null {
  if (tenant.phase !== 'ACTIVE') return { why: 'not-awake', inMs: null };
  if (rest.isPinned) return { why: 'pinned', inMs: null };
  if (rest.neverSleeps) return { why: 'never-sleeps', inMs: null };
  if (rest.idleSinceMs === null) return { why: 'serves', inMs: null };
  const idleInMs = rest.idleSinceMs + sleepToMakeRoomAfterMs - nowMs;
  const awakeInMs = rest.awakeSinceMs + sleepToMakeRoomAfterMs - nowMs;
  const inMs = Math.max(idleInMs, awakeInMs);
  if (inMs <= 0) return null;
  return { why: idleInMs > 0 ? 'idle-too-short' : 'awake-too-short', inMs };
}

/** Idle the longest first, then by name. */
export function sleepOrder(tenants: readonly Tenant[], rules: SleepRules): readonly Tenant[] {
  const { restOf } = rules;
  return tenants
    .filter((tenant) => whyNotSleep(tenant, restOf(tenant.model), rules) === null)
    .toSorted(
      (a, b) => (restOf(a.model).idleSinceMs ?? 0) - (restOf(b.model).idleSinceMs ?? 0) || (a.model < b.model ? -1 : 1),
    );
}

/**
 * The neighbours whose sleep would make `needBytes` of room, taken in the order given until it is enough; null where all of
 * them do not suffice. What a sleeper leaves is what it left last, or nothing known: then it is believed to leave all but its need, and the
 * next look sees what it really left.
 */
export function sleepersFor(
  gpu: PoolGpu,
  needBytes: Bytes,
  { candidates, restOf }: { readonly candidates: readonly Tenant[] } & Pick<SleepRules, 'restOf'>,
): readonly Tenant[] | null {
  const account = accountOf(gpu, true);
  const lacking = needBytes - Math.min(account.maximumRoomBytes, account.roomNowBytes);
  if (lacking <= 0) return [];
  const chosen: Tenant[] = [];
  let gained = 0;
  for (const tenant of candidates) {
    const bytes = gainOf(tenant, restOf(tenant.model));
    if (bytes <= 0) continue;
    chosen.push(tenant);
    gained += bytes;
    if (gained >= lacking) return chosen;
  }
  return null;
}

/** The room that its sleep makes, by what it left when it slept last. */
export const gainOf = (tenant: Tenant, { lastResidueBytes }: Restfulness): Bytes =>
  Math.min(reserveOf(tenant, true), heldOf(tenant, true)) - (lastResidueBytes ?? 0);
