import type { ClaimReason, PoolHold, PoolPlan, SnapshotClaim } from '../contract/index.js';
import type { Engine, PoolState } from './pool-state.js';
import { nameTo, type Told } from './told-names.js';

/** What a turn decided so far. Each order changes the working copy, so that what follows sees it as given. */
export interface Turn {
  readonly state: PoolState;
  readonly places: PoolPlan['places'];
  readonly orders: PoolPlan['orders'];
  readonly calledOff: PoolPlan['calledOff'];
  readonly holds: PoolPlan['holds'];
  /** By claim, where a step had one to give. */
  readonly reasons: Map<string, ClaimReason>;
  /** Moments at which time alone may change something. */
  readonly moments: number[];
}

export const openTurn = (state: PoolState): Turn => ({
  state,
  places: [],
  orders: [],
  calledOff: [],
  holds: [],
  reasons: new Map(),
  moments: [],
});

/** It counts as awake, with all that it holds, until it sleeps. */
export function orderSleep(turn: Turn, engine: Engine, because: string): void {
  giveSleep(turn, engine, { because, for: null });
}

/** For one that wants its room: `because` is said of it. */
export function orderSleepFor(turn: Turn, engine: Engine, whom: Told): void {
  const name = nameTo(engine.claim, whom.claim);
  giveSleep(turn, engine, { because: `makes room: ${name} ${whom.words}`, for: name });
}

function giveSleep(turn: Turn, engine: Engine, why: { readonly because: string; readonly for: string | null }): void {
  engine.order = 'sleep';
  turn.orders.push({ instanceId: engine.id, model: engine.model, kind: 'sleep', ...why });
}

export function orderWake(turn: Turn, engine: Engine, because: string): void {
  engine.order = 'wake';
  engine.phase = 'WAKING';
  engine.isWakeAsked = false;
  turn.reasons.delete(engine.claim.id);
  for (const gpu of engine.on) gpu.isTouched = true;
  turn.orders.push({ instanceId: engine.id, model: engine.model, kind: 'wake', because, for: null });
}

/** It holds what it holds until it is gone. */
export function orderStop(turn: Turn, engine: Engine, because: string): void {
  engine.order = 'stop';
  engine.phase = 'STOPPING';
  engine.isWakeAsked = false;
  turn.orders.push({ instanceId: engine.id, model: engine.model, kind: 'stop', because, for: null });
}

export function give(turn: Turn, claim: Pick<SnapshotClaim, 'id'>, reason: ClaimReason): void {
  turn.reasons.set(claim.id, reason);
}

/** Moments that have passed change nothing any more. */
export function look(turn: Turn, atMs: number | null): void {
  if (atMs !== null && atMs > turn.state.nowMs) turn.moments.push(atMs);
}

export const isHoldOf = (hold: PoolHold, claimId: string, replica: number): boolean =>
  hold.claimId === claimId && hold.replica === replica;

/** An engine that takes this one's place elsewhere, and has not failed. */
export const successorOf = ({ enginesOf }: PoolState, engine: Engine): Engine | undefined =>
  enginesOf.get(engine.claim.id)?.find(({ movesFrom, phase }) => movesFrom === engine.id && phase !== 'STOPPING');
