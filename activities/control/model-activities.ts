import type { LimitResult, OrderResult } from '../../src/contract/index.js';
import type { ClaimLife, DueOrder, LimitOrder, MemberLimits } from '../../src/store/model-store.js';

export type { ClaimLife, DueOrder, LimitOrder, MemberLimits };

/** What one turn of a pool's planner leaves to be done on nodes; what it decided stands in the ledger. */
export interface PoolTurn {
  /** `busy`: another planner has the pool. `ended`: it was removed, and its members have ended. */
  readonly outcome: 'planned' | 'busy' | 'ended';
  /** Postgres's clock under the pool's lock, in ms since 1970: it rises from turn to turn. */
  readonly turn: number;
  readonly limits: readonly MemberLimits[];
  /** Sessions of members are to be submitted or stopped. */
  readonly membersDue: boolean;
  /** There was more to write than one turn carries. */
  readonly more: boolean;
  /** Nothing is under way: no order, no limit to write, no wake that waits, no room that is held. */
  readonly isAtRest: boolean;
  /** From now to the next moment at which time alone changes something. */
  readonly nextLookMs: number | null;
  readonly details: string;
}

export interface WrittenLimits {
  readonly pool: string;
  readonly memberSessionId: string;
  /** `unreachable`: the node did not answer in time, and what is in force there is not known. */
  readonly results: readonly LimitResult[] | 'unreachable';
}

export interface SettledOrder {
  readonly claimId: string;
  readonly pool: string;
  readonly instanceId: string;
  readonly seq: number;
  readonly result: OrderResult;
}

/** Control activities of pools and claims. They carry ids and counts, and each is safe to run twice. */
export interface ModelActivities {
  /** Snapshot, plan and commit in one transaction; then the claims that have orders due are signalled. */
  poolTurn(pool: string): Promise<PoolTurn>;
  /** `again`: what was asked is not in force, so a further turn is wanted. Signals the claims whose orders became due. */
  recordLimits(written: WrittenLimits): Promise<{ readonly again: boolean }>;
  /** Submits sessions of members that are missing and stops those of members that are drained and empty. */
  memberWork(pool: string): Promise<{ readonly more: boolean }>;
  claimLife(claimId: string): Promise<ClaimLife>;
  /** Writes what an order came to, and kicks the pool: an older order's result changes nothing. */
  settleOrder(settled: SettledOrder): Promise<void>;
}
