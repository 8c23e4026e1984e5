import type { PoolHold, SnapshotClaim } from '../contract/index.js';
import { neverHere, noRoom } from './no-room.js';
import { opensTo, placeOn, setsOf } from './place-claim.js';
import { addEngine, type Engine, type Gpu, type PoolState } from './pool-state.js';
import { comingOn, isBlind, roomWithAsks } from './room-book.js';
import { sleepersFor, sleepOrder, whyNotSleep } from './sleepers.js';
import { needOf } from './tenant.js';
import { nameTo, toldTo } from './told-names.js';
import { give, isHoldOf, look, orderSleepFor, type Turn } from './turn.js';

/** Freed room is held for its claim until it is placed, or so long. */
export const HOLD_MS = 2 * 60_000;

interface Ask {
  readonly claim: SnapshotClaim;
  readonly replica: number;
}

/** Holds that stand are charged before anyone looks at a room; those that ended, or lost their GPU, are dropped. */
export function chargeHolds(turn: Turn): void {
  const { state } = turn;
  for (const hold of state.snapshot.holds) {
    const gpus = gpusOf(state, hold);
    const claim = state.snapshot.claims.find(({ id }) => id === hold.claimId);
    const isOver = hold.untilMs <= state.nowMs || claim === undefined || claim.isEnding;
    if (isOver || isSeated(state, hold) || gpus.some((gpu) => !gpu.isOpen) || gpus.length < hold.gpus.length) continue;
    look(turn, hold.untilMs);
    for (const gpu of gpus) gpu.heldBytes += hold.bytes;
    turn.holds.push({ ...hold, because: `room is held for ${claim.model}` });
  }
}

const gpusOf = ({ gpuOf }: PoolState, { gpus }: PoolHold): readonly Gpu[] =>
  gpus.flatMap((name) => gpuOf.get(name) ?? []);

const isSeated = ({ enginesOf }: PoolState, { claimId, replica }: PoolHold): boolean =>
  (enginesOf.get(claimId) ?? []).some((engine) => engine.replica === replica && engine.phase !== 'STOPPING');

/**
 * Engines that are wanted and not there, those that wait the longest first. One that is admitted is placed and charged before
 * the next is looked at. In a pool that releases the one that waits longest makes room, where the fewest have to sleep.
 */
export function placeNewClaims(turn: Turn): void {
  for (const ask of asksOf(turn.state)) {
    const never = neverHere(turn.state, ask.claim);
    if (never !== null) {
      dropHold(turn, ask);
      give(turn, ask.claim, never);
      continue;
    }
    if (place(turn, ask) || makesRoom(turn, ask)) continue;
    for (const { untilMs } of ask.claim.avoid) look(turn, untilMs);
    give(turn, ask.claim, noRoom(turn.state, ask.claim));
  }
}

/** One whose hold has just ended without a place lets the others try first. */
function asksOf({ snapshot, enginesOf, nowMs }: PoolState): readonly Ask[] {
  const asks: Ask[] = [];
  for (const claim of snapshot.claims) {
    if (claim.isEnding) continue;
    const engines = enginesOf.get(claim.id) ?? [];
    for (let replica = 0; replica < claim.replicas; replica += 1) {
      const isThere = engines.some((engine) => engine.replica === replica && engine.phase !== 'STOPPING');
      if (!isThere) asks.push({ claim, replica });
    }
  }
  const isLate = ({ claim, replica }: Ask): number =>
    Number(snapshot.holds.some((hold) => hold.untilMs <= nowMs && isHoldOf(hold, claim.id, replica)));
  return asks.sort(
    (a, b) =>
      isLate(a) - isLate(b) ||
      a.claim.createdMs - b.claim.createdMs ||
      (a.claim.model === b.claim.model ? a.replica - b.replica : a.claim.model < b.claim.model ? -1 : 1),
  );
}

const holdOf = ({ holds }: Turn, { claim, replica }: Ask) => holds.find((hold) => isHoldOf(hold, claim.id, replica));

function dropHold(turn: Turn, ask: Ask): void {
  const hold = holdOf(turn, ask);
  if (hold === undefined) return;
  for (const gpu of gpusOf(turn.state, hold)) gpu.heldBytes -= hold.bytes;
  turn.holds.splice(turn.holds.indexOf(hold), 1);
}

function place(turn: Turn, ask: Ask): boolean {
  const { claim, replica } = ask;
  const own = holdOf(turn, ask);
  const found = placeOn(turn.state, { claim, ...(own === undefined ? {} : { own }) });
  if (found === null) return false;
  dropHold(turn, ask);
  turn.reasons.delete(claim.id);
  addEngine(turn.state, { claim, replica, on: found.gpus, movesFrom: null });
  turn.places.push({
    claimId: claim.id,
    model: claim.model,
    replica,
    member: found.gpus[0].member.sessionId,
    gpus: found.gpus.map(({ name }) => name),
    movesFrom: null,
    because: own === undefined ? found.because : `${found.because}, held for it`,
  });
  return true;
}

/** Only one at a time makes room; what it frees is held for it, and one sleeps after another. */
function makesRoom(turn: Turn, ask: Ask): boolean {
  const { state } = turn;
  if (!state.releases) return false;
  const own = holdOf(turn, ask);
  if (own !== undefined) {
    const gpus = gpusOf(state, own);
    sleepNext(turn, ask, { gpus, ownBytes: own.bytes });
    return true;
  }
  if (turn.holds.length > 0) return false;
  const gpus = whereToMakeRoom(turn, ask);
  if (gpus === null) return false;
  const bytes = needOf(ask.claim);
  for (const gpu of gpus) gpu.heldBytes += bytes;
  const names = gpus.map(({ name }) => name);
  const untilMs = state.nowMs + HOLD_MS;
  const because = `room is made on ${names.join(', ')} for ${ask.claim.model}`;
  turn.holds.push({ claimId: ask.claim.id, replica: ask.replica, gpus: names, bytes, untilMs, because });
  look(turn, untilMs);
  sleepNext(turn, ask, { gpus, ownBytes: bytes });
  return true;
}

/** Where the fewest have to sleep, then as it would be placed; null: those that may sleep now make no room anywhere. */
function whereToMakeRoom(turn: Turn, ask: Ask): readonly [Gpu, ...Gpu[]] | null {
  const { state } = turn;
  const needBytes = needOf(ask.claim);
  const open = opensTo(state, ask).filter((gpu) => !isBlind(gpu) && gpu.usableBytes >= needBytes);
  const able = open.filter((gpu) => sleepsOn(turn, [gpu], needBytes) !== null);
  let best: { readonly gpus: readonly [Gpu, ...Gpu[]]; readonly sleeps: number } | null = null;
  for (const { gpus } of setsOf(state, ask.claim, able)) {
    const sleeps = sleepsOn(turn, gpus, needBytes);
    if (sleeps !== null && (best === null || sleeps.length < best.sleeps)) best = { gpus, sleeps: sleeps.length };
  }
  if (best !== null) return best.gpus;
  for (const engine of new Set(open.flatMap(({ tenants }) => tenants)))
    look(turn, whyNotSleep(engine, state)?.untilMs ?? null);
  return null;
}

/** Who has to sleep there beside those that are on their way: nobody where these suffice; null: not enough may. */
function sleepsOn({ state }: Turn, gpus: readonly Gpu[], needBytes: number): readonly Engine[] | null {
  const lacking = lackOn(state, gpus, needBytes);
  return lacking.size === 0 ? [] : sleepersFor(lacking, sleepOrder(state, gpus));
}

function lackOn({ releases }: PoolState, gpus: readonly Gpu[], needBytes: number): ReadonlyMap<Gpu, number> {
  const lacking = new Map<Gpu, number>();
  for (const gpu of gpus) {
    const bytes = needBytes - roomWithAsks(gpu, releases) - comingOn(gpu, releases);
    if (bytes > 0) lacking.set(gpu, bytes);
  }
  return lacking;
}

interface Held {
  readonly gpus: readonly Gpu[];
  readonly ownBytes: number;
}

/** The next one sleeps once the one before does, and only while room is still lacking. */
function sleepNext(turn: Turn, { claim }: Ask, { gpus, ownBytes }: Held): void {
  const { state } = turn;
  const going = gpus.flatMap(({ tenants }) => tenants.filter(({ order }) => order === 'sleep' || order === 'stop'));
  const lacking = lackOn(state, gpus, needOf(claim) - ownBytes);
  if (going.length === 0 && lacking.size > 0) {
    const next = sleepersFor(lacking, sleepOrder(state, gpus))?.[0];
    if (next !== undefined) {
      orderSleepFor(turn, next, { claim, words: 'waits for it' });
      going.push(next);
    } else
      for (const engine of gpus.flatMap(({ tenants }) => tenants))
        look(turn, whyNotSleep(engine, state)?.untilMs ?? null);
  }
  const told = [...new Set(going)].map((each) => ({
    claim: each.claim,
    words: each.order === 'sleep' ? 'sleeps' : 'leaves',
  }));
  const who = toldTo(claim, told);
  const names = gpus.map(({ name }) => name);
  give(turn, claim, {
    code: 'MakingRoom',
    message: `${who.length === 0 ? 'waits for the room that is held' : `${who.join(', ')} to make room`} on ${names.join(', ')}`,
    data: {
      needBytes: needOf(claim),
      gpus: names,
      sleeps: going.filter(({ order }) => order === 'sleep').map((each) => nameTo(claim, each.claim)),
    },
  });
}
