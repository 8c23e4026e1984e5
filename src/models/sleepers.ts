import type { PoolPolicy, SnapshotClaim } from '../contract/index.js';
import { heldOf, reserveOf } from './account.js';
import { hostRoomOf, weightsOf } from './host-memory.js';
import { type Engine, type Gpu, type PoolState } from './pool-state.js';
import type { Bytes } from './tenant.js';
import { successorOf } from './turn.js';

const MAKE_ROOM_AFTER_MS = 30_000;

export type NoSleep =
  | 'serves'
  | 'idle-too-short'
  | 'awake-too-short'
  | 'pinned'
  | 'never-sleeps'
  | 'not-awake'
  | 'wanted'
  | 'tried'
  | 'host-memory';

export const NO_SLEEP_IN_WORDS: Readonly<Record<NoSleep, string>> = {
  serves: 'serves',
  'idle-too-short': 'was in use a moment ago',
  'awake-too-short': 'woke a moment ago',
  pinned: 'is pinned',
  'never-sleeps': 'never sleeps',
  'not-awake': 'is not awake',
  wanted: 'was asked for',
  tried: 'could not sleep a moment ago',
  'host-memory': 'finds no host memory for its weights',
};

export interface SleepRefusal {
  readonly why: NoSleep;
  /** When that changes if it stays idle; null: only an event changes it. */
  readonly untilMs: number | null;
}

const refusal = (why: NoSleep, untilMs: number | null = null): SleepRefusal => ({ why, untilMs });

/** By its own clock, or the pool's; null: models sleep only to make room. */
export const sleepAfterMs = ({ sleepAfterMs: own }: SnapshotClaim, { sleepAfterSeconds }: PoolPolicy): number | null =>
  own ?? (sleepAfterSeconds === null ? null : sleepAfterSeconds * 1000);

/** Idle, and awake, for so long before it may sleep to make room. */
export function makeRoomAfterMs(claim: SnapshotClaim, policy: PoolPolicy): number {
  if (policy.sleepToMakeRoomAfterSeconds !== null) return policy.sleepToMakeRoomAfterSeconds * 1000;
  return Math.min(MAKE_ROOM_AFTER_MS, sleepAfterMs(claim, policy) ?? MAKE_ROOM_AFTER_MS);
}

/** Why it does not sleep whoever asks, now or for good. */
export const whyNeverAsleepNow = (engine: Engine, state: PoolState): SleepRefusal | null =>
  whyNotIdle(engine, state) ?? whyNoHost(engine, state);

const whyNoHost = (engine: Engine, state: PoolState): SleepRefusal | null =>
  hostRoomOf(state, engine.member) < weightsOf(engine) ? refusal('host-memory') : null;

/** A load that could not be read is not idle. */
function whyNotIdle(engine: Engine, state: PoolState): SleepRefusal | null {
  const { phase, order, claim, row, load } = engine;
  if (phase !== 'ACTIVE' || order !== null || row === null) return refusal('not-awake');
  if (claim.pinned) return refusal('pinned');
  if (claim.wakeAskedMs !== null) return refusal('wanted');
  if (row.idleSinceMs === null || load === null || load.running + load.waiting > 0) return refusal('serves');
  if (row.noSleepBeforeMs !== null && row.noSleepBeforeMs > state.nowMs) return refusal('tried', row.noSleepBeforeMs);
  return successorOf(state, engine) === undefined ? null : refusal('not-awake');
}

/** Why it may not be put to sleep for another; null: it may. */
export function whyNotSleep(engine: Engine, state: PoolState): SleepRefusal | null {
  const { claim, row } = engine;
  const refused = whyNotIdle(engine, state);
  if (refused !== null) return refused;
  if (claim.neverSleeps) return refusal('never-sleeps');
  const after = makeRoomAfterMs(claim, state.snapshot.policy);
  const idleMs = (row?.idleSinceMs ?? 0) + after;
  const awakeMs = (row?.awakeSinceMs ?? 0) + (claim.minimumAwakeMs ?? after);
  const untilMs = Math.max(idleMs, awakeMs);
  if (untilMs > state.nowMs) return refusal(idleMs > state.nowMs ? 'idle-too-short' : 'awake-too-short', untilMs);
  return whyNoHost(engine, state);
}

/** The room that its sleep makes on each of its GPUs, by what it left when it slept last; not known: all but nothing stays. */
export const gainOf = (engine: Engine): Bytes =>
  Math.min(reserveOf(engine, true), heldOf(engine, true)) - (engine.row?.lastResidueBytes ?? 0);

/** Those that may sleep on these GPUs, idle the longest first, then by name. */
export function sleepOrder(state: PoolState, gpus: readonly Gpu[]): readonly Engine[] {
  const engines = new Set(gpus.flatMap(({ tenants }) => tenants));
  return [...engines]
    .filter((engine) => whyNotSleep(engine, state) === null)
    .sort(
      (a, b) =>
        (a.row?.idleSinceMs ?? 0) - (b.row?.idleSinceMs ?? 0) ||
        (a.model === b.model ? (a.id < b.id ? -1 : 1) : a.model < b.model ? -1 : 1),
    );
}

/**
 * The neighbours whose sleep, one after another in the order given, makes the room that each GPU lacks; null where all of them
 * do not suffice. The next look sees what they really left.
 */
export function sleepersFor(
  lacking: ReadonlyMap<Gpu, Bytes>,
  candidates: readonly Engine[],
): readonly [Engine, ...Engine[]] | null {
  const lack = new Map(lacking);
  const chosen: Engine[] = [];
  for (const engine of candidates) {
    const bytes = gainOf(engine);
    if (bytes <= 0 || !engine.on.some((gpu) => (lack.get(gpu) ?? 0) > 0)) continue;
    chosen.push(engine);
    for (const gpu of engine.on) lack.set(gpu, (lack.get(gpu) ?? 0) - bytes);
    const [first, ...rest] = chosen;
    if (first !== undefined && [...lack.values()].every((left) => left <= 0)) return [first, ...rest];
  }
  return null;
}
