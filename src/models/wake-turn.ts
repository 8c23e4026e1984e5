import type { PoolHold } from '../contract/index.js';
import { seconds } from './amounts.js';
import { isDividedAsReleased, wakeLackOf } from './kv-limits.js';
import { placeOn } from './place-claim.js';
import { addEngine, type Engine, type Gpu } from './pool-state.js';
import { isBlind, RoomBook } from './room-book.js';
import { NO_SLEEP_IN_WORDS, sleepersFor, sleepOrder, whyNotSleep } from './sleepers.js';
import { nameTo, type Told, toldTo } from './told-names.js';
import { give, look, orderSleepFor, orderWake, successorOf, type Turn } from './turn.js';

/** A wake that nobody waits for any more is called off. */
export const CALL_OFF_AFTER_MS = 5 * 60_000;
const AGAIN_MS = 1000;

/**
 * One turn over the wakes that were asked for, in the order of asking. A wake whose room is there is charged before the next
 * is looked at; one that makes room keeps what it needs from those behind it; one that can only wait keeps nothing, and stops
 * nobody.
 */
export function wakeTurn(turn: Turn): void {
  const { state } = turn;
  const asks = state.engines
    .filter((engine) => engine.isWakeAsked && !isCalledOff(turn, engine))
    .sort(
      (a, b) => askedMs(a) - askedMs(b) || (a.model < b.model ? -1 : a.model > b.model ? 1 : a.replica - b.replica),
    );
  if (asks.length === 0) return;
  const book = new RoomBook(state);
  for (const engine of asks) step(turn, engine, book);
}

const askedMs = ({ claim }: Engine): number => claim.wakeAskedMs ?? 0;

function isCalledOff(turn: Turn, engine: Engine): boolean {
  const { claim } = engine;
  const untilMs = Math.max(claim.lastRequestMs ?? 0, askedMs(engine)) + CALL_OFF_AFTER_MS;
  if (untilMs > turn.state.nowMs) {
    look(turn, untilMs);
    return false;
  }
  engine.isWakeAsked = false;
  if (!turn.calledOff.some(({ claimId }) => claimId === claim.id)) {
    const because = `nobody asked for ${claim.model} for ${seconds(CALL_OFF_AFTER_MS)}`;
    turn.calledOff.push({ claimId: claim.id, model: claim.model, because });
  }
  return true;
}

function step(turn: Turn, engine: Engine, book: RoomBook): void {
  const { state } = turn;
  const successor = successorOf(state, engine);
  if (successor !== undefined) return;
  const blind = engine.on.filter(isBlind);
  if (blind.length > 0) {
    const holes = blind.map(({ name, holes }) => `${name}: ${holes.join(', ')}`).join('; ');
    return wait(turn, engine, { why: `not known: ${holes}`, untilMs: null });
  }
  if (!isDown(engine, state.releases)) {
    look(turn, state.nowMs + AGAIN_MS);
    return wait(turn, engine, { why: 'its limit of before is still in force', untilMs: null });
  }
  const lackBytes = wakeLackOf(engine, state.releases);
  if (engine.on.every((gpu) => book.holds(gpu, lackBytes))) {
    return orderWake(turn, engine, `asked for, and both rooms of ${names(engine.on)} hold it`);
  }
  if (state.releases && makesRoom(turn, engine, { book, lackBytes })) return;
  if (moves(turn, engine)) return;
  waitForNeighbours(turn, engine);
}

/**
 * Who gave his reservation away has a limit below his floor in force, so that it is raised once his neighbours gave way: one
 * whose old limit was not taken down yet would wake into their room.
 */
const isDown = (engine: Engine, releases: boolean): boolean =>
  !isDividedAsReleased(engine, releases) ||
  (engine.limitBytes !== null && (engine.limitBytes < engine.kvFloorBytes || engine.limitBytes <= engine.kvUsedBytes));

interface Lack {
  readonly book: RoomBook;
  readonly lackBytes: number;
}

/** One sleeps at a time for it; then its room is looked at again. */
function makesRoom(turn: Turn, engine: Engine, { book, lackBytes }: Lack): boolean {
  const { claim, model, on } = engine;
  const full = on.filter((gpu) => !book.holds(gpu, lackBytes));
  const going = [...book.claimSleepers(full)];
  const lacking = new Map<Gpu, number>();
  for (const gpu of on) {
    const bytes = lackBytes - book.roomToCome(gpu);
    if (bytes > 0) lacking.set(gpu, bytes);
  }
  const chosen = lacking.size === 0 ? null : sleepersFor(lacking, sleepOrder(turn.state, full));
  if (lacking.size > 0 && chosen === null && going.length === 0) return false;
  if (chosen !== null && going.length === 0) {
    const [sleeper] = chosen;
    orderSleepFor(turn, sleeper, { claim, words: 'was asked for' });
    book.claimSleepers(sleeper.on);
    going.push(sleeper);
  }
  book.keep(on, lackBytes);
  const leaving = full.flatMap(({ tenants }) => tenants.filter(({ phase }) => phase === 'STOPPING'));
  const told = [...going.map(says('sleeps')), ...leaving.map(says('leaves'))];
  give(turn, claim, {
    code: 'MakingRoom',
    message: `${toldTo(claim, told).join(', ')} so that ${model} can wake`,
    data: { sleeps: going.map((each) => nameTo(claim, each.claim)), gpus: on.map(({ name }) => name), lackBytes },
  });
  return true;
}

/** Started anew on another member that admits it; charged on both until the old one is gone. */
function moves(turn: Turn, engine: Engine): boolean {
  const { state, places } = turn;
  const { claim, replica, member, id } = engine;
  const found = placeOn(state, { claim, exceptMember: member });
  if (found === null) return false;
  const because = `nobody on ${names(engine.on)} can sleep for ${claim.model} yet; ${found.because}`;
  addEngine(state, { claim, replica, on: found.gpus, movesFrom: id });
  places.push({
    claimId: claim.id,
    model: claim.model,
    replica,
    member: found.gpus[0].member.sessionId,
    gpus: found.gpus.map(({ name }) => name),
    movesFrom: id,
    because,
  });
  give(turn, claim, {
    code: 'Moving',
    message: `moves from ${names(engine.on)} to ${names(found.gpus)}: nobody there can sleep for it yet`,
    data: { from: engine.on.map(({ name }) => name), to: found.gpus.map(({ name }) => name) },
  });
  return true;
}

function waitForNeighbours(turn: Turn, engine: Engine): void {
  const { state } = turn;
  const neighbours = [...new Set(engine.on.flatMap(({ tenants }) => tenants))].filter(
    (each) => each !== engine && (each.phase === 'ACTIVE' || each.phase === 'STARTING' || each.phase === 'WAKING'),
  );
  let untilMs: number | null = null;
  const told = neighbours.flatMap((each) => {
    const refused = whyNotSleep(each, state);
    if (refused !== null) look(turn, refused.untilMs);
    if (refused?.untilMs != null) untilMs = Math.min(untilMs ?? refused.untilMs, refused.untilMs);
    return refused === null ? [] : [says(NO_SLEEP_IN_WORDS[refused.why])(each)];
  });
  const reasons = [...toldTo(engine.claim, told)];
  const held = toldTo(engine.claim, heldFor(turn, engine.on));
  if (held.length > 0) reasons.push(`room is held for ${held.join(', ')}`);
  if (!state.releases) reasons.push('the pool keeps the reservations of sleepers');
  wait(turn, engine, {
    why: reasons.length === 0 ? `nobody on ${names(engine.on)} can sleep for it` : reasons.join(', '),
    untilMs,
  });
}

const says =
  (words: string) =>
  ({ claim }: Engine): Told => ({ claim, words });

const heldFor = ({ state, holds }: Turn, gpus: readonly Gpu[]): readonly Told[] =>
  holds
    .filter((hold: PoolHold) => hold.gpus.some((name) => gpus.some((gpu) => gpu.name === name)))
    .flatMap((hold) => state.snapshot.claims.find(({ id }) => id === hold.claimId) ?? [])
    .map((claim) => ({ claim, words: '' }));

interface Waiting {
  readonly why: string;
  /** When the first of the neighbours may sleep if it stays idle; null: nobody knows. */
  readonly untilMs: number | null;
}
function wait(turn: Turn, { claim, model, on }: Engine, { why, untilMs }: Waiting): void {
  give(turn, claim, {
    code: 'WaitingForRoom',
    message: `${model} waits for room: ${why}`,
    data: {
      needBytes: claim.footprintBytes + claim.kvFloorBytes,
      gpus: on.map(({ name }) => name),
      ...(untilMs === null ? {} : { at: new Date(untilMs).toISOString() }),
    },
  });
}

const names = (gpus: readonly Gpu[]): string => gpus.map(({ name }) => name).join(', ');
