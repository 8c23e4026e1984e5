import type { LimitResult, OrderResult } from '../../src/contract/index.js';

/** One segment of kvcached and what its limit is to be. */
export interface LimitWrite {
  readonly instanceId: string;
  readonly toBytes: number;
}

/**
 * A member's segments, all lowered or all raised. `lower`: a segment that is missing has nothing to lower and is answered
 * with null. `raise`: a missing segment is created with its limit, before its engine exists. What the agent reads of the
 * member's GPUs while it does so decides too: a GPU whose lowers are not all in force gets no raise.
 */
export interface LimitsInput {
  readonly memberSessionId: string;
  /** Rises with the planner's turns. Once a later turn has written to the member, an earlier one writes nothing any more. */
  readonly turn: number;
  readonly writes: readonly LimitWrite[];
  readonly stage: 'lower' | 'raise';
}

/** `seq` is that of the ledger's order: the agent refuses none by it, it only tells two orders of an engine apart. */
export interface EngineOrderInput {
  readonly instanceId: string;
  readonly seq: number;
}

/**
 * Orders to the engines of one node. Inputs carry ids only: image, arguments and secrets of an engine come from the API,
 * with the node's own token, and only while the ledger gives the order. Each may run twice, also while its first run is
 * still at work: what is done already is answered as done. A failure that is understood is a result (`failed`), never an
 * exception; an exception is tried again. The four of one engine heartbeat at least each 10 s, and one that is
 * cancelled leaves the engine as it is: what becomes of it is the next order's.
 */
export interface EngineActivities {
  /**
   * Writes each limit under the segment's lock and reads it back: one result for each write, in their order. It has 5 s, and
   * one that ran out of them must not write later: the planner has gone on without it.
   */
  setLimits(input: LimitsInput): Promise<readonly LimitResult[]>;
  /** Fetches the artifact, starts the engine under its limit, waits until it is ready, reads the limit back. */
  startEngine(order: EngineOrderInput): Promise<OrderResult>;
  /** Looks for requests in flight first: with any it answers `busy`. Asleep already: `asleep`, measured again. */
  sleepEngine(order: EngineOrderInput): Promise<OrderResult>;
  /** Wakes it under `plannedBytes` and reads the limit back. Awake already: `ready`. */
  wakeEngine(order: EngineOrderInput & { readonly plannedBytes: number }): Promise<OrderResult>;
  /** Waits for requests in flight, `drainSeconds` at most, then ends and removes it. Not there: `gone`. */
  stopEngine(order: EngineOrderInput & { readonly drainSeconds: number }): Promise<OrderResult>;
}
