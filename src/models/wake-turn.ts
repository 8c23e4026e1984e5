import { heldOf, reserveOf } from './account.js';
import { gainOf, type SleepRules, sleepersFor, sleepOrder, whyNotSleep } from './sleepers.js';
import { type Bytes, isReleased, needOf, type PoolGpu, type Tenant } from './tenant.js';

/** A wake that was asked for, on one GPU. */
export interface WakeAsk {
  readonly model: string;
  readonly askedMs: number;
  /** The last request for the model: a wake that nobody waits for any more is called off. */
  readonly lastRequestMs: number;
}

export type WakeStep =
  | { readonly model: string; readonly step: 'wake' }
  /** Somebody sleeps for it: one at a time, then its room is looked at again. */
  | { readonly model: string; readonly step: 'make-room'; readonly sleeps: string; readonly message: string }
  /** Nobody can sleep for it yet. `inMs`: when somebody may, if he stays idle; null: only an event changes it. */
  | { readonly model: string; readonly step: 'wait'; readonly inMs: number | null; readonly message: string }
  | { readonly model: string; readonly step: 'call-off'; readonly message: string };

export interface WakeRules extends SleepRules {
  /** The pool gives a sleeper's reservation away: without it a sleeper always has its room. */
  readonly releases: boolean;
  readonly callOffAfterMs: number;
}

export const CALL_OFF_AFTER_MS = 5 * 60_000;

/**
 * One turn over the wakes that were asked for on a GPU, in the order of asking. A wake whose room is there is charged before
 * the next is looked at; one that makes room keeps what it needs from those behind it; one that can only wait keeps nothing,
 * and stops nobody.
 */
export function wakeTurn(gpu: PoolGpu, asks: readonly WakeAsk[], rules: WakeRules): readonly WakeStep[] {
  const rooms = roomsWithoutAsks(gpu, rules.releases);
  const leaving = new Set<string>();
  return asks
    .toSorted((a, b) => a.askedMs - b.askedMs || (a.model < b.model ? -1 : 1))
    .flatMap((ask) => {
      const tenant = gpu.tenants.find(({ model, phase }) => model === ask.model && phase === 'SLEEPING');
      return tenant === undefined ? [] : [stepOf(ask, tenant, { gpu, rooms, leaving, rules })];
    });
}

interface Turn {
  readonly gpu: PoolGpu;
  /** The smaller of both rooms, with every asked wake that was not met yet still asleep. */
  readonly rooms: { bytes: Bytes };
  /** To sleep for a wake ahead of this one. */
  readonly leaving: Set<string>;
  readonly rules: WakeRules;
}

function stepOf(ask: WakeAsk, tenant: Tenant, turn: Turn): WakeStep {
  const { model } = ask;
  const { nowMs, callOffAfterMs, releases } = turn.rules;
  if (nowMs - ask.lastRequestMs >= callOffAfterMs)
    return { model, step: 'call-off', message: `nobody asked for ${model} for ${callOffAfterMs / 1000} s` };
  const asleep = { ...tenant, isWakeAsked: false };
  const lackBytes = isReleased(asleep, releases) ? needOf(tenant) - reserveOf(asleep, releases) : 0;
  if (turn.rooms.bytes >= lackBytes) {
    turn.rooms.bytes -= lackBytes;
    return { model, step: 'wake' };
  }
  const sleepers = nextSleepers(turn, lackBytes);
  const sleeper = sleepers[0]?.model;
  if (sleeper === undefined) return waitStep(model, turn);
  for (const each of sleepers) {
    turn.leaving.add(each.model);
    turn.rooms.bytes += gainOf(each, turn.rules.restOf(each.model));
  }
  turn.rooms.bytes -= lackBytes;
  return { model, step: 'make-room', sleeps: sleeper, message: `${sleeper} sleeps so that ${model} can wake` };
}

/** Those whose sleep, one after another, makes the room; nobody where they do not suffice. */
function nextSleepers({ gpu, rooms, leaving, rules }: Turn, lackBytes: Bytes): readonly Tenant[] {
  const order = sleepOrder(gpu.tenants, rules).filter(({ model }) => !leaving.has(model));
  const tenants = gpu.tenants.map((tenant) => ({ ...tenant, isWakeAsked: false }));
  const taken = { ...gpu, tenants, usableBytes: gpu.usableBytes + rooms.bytes - roomsOf(gpu, tenants, rules.releases) };
  return sleepersFor(taken, lackBytes, { candidates: order, restOf: rules.restOf }) ?? [];
}

function waitStep(model: string, { gpu, rules }: Turn): WakeStep {
  const neighbours = gpu.tenants.filter((each) => each.model !== model && each.phase === 'ACTIVE');
  const reasons = neighbours.flatMap((each) => {
    const reason = whyNotSleep(each, rules.restOf(each.model), rules);
    return reason === null ? [] : [{ ...reason, model: each.model }];
  });
  const moments = reasons.flatMap(({ inMs }) => (inMs === null ? [] : [inMs]));
  const message =
    reasons.length === 0
      ? `${model} waits for room: nobody on ${gpu.name} can sleep for it`
      : `${model} waits for room: ${reasons.map((reason) => `${reason.model} ${IN_WORDS[reason.why]}`).join(', ')}`;
  return { model, step: 'wait', inMs: moments.length === 0 ? null : Math.min(...moments), message };
}

const IN_WORDS = {
  serves: 'serves',
  'idle-too-short': 'was in use a moment ago',
  'awake-too-short': 'woke a moment ago',
  pinned: 'is pinned',
  'never-sleeps': 'never sleeps',
  'not-awake': 'is not awake',
} as const;

const roomsWithoutAsks = (gpu: PoolGpu, releases: boolean): { bytes: Bytes } => ({
  bytes: roomsOf(
    gpu,
    gpu.tenants.map((tenant) => ({ ...tenant, isWakeAsked: false })),
    releases,
  ),
});

function roomsOf(gpu: PoolGpu, tenants: readonly Tenant[], releases: boolean): Bytes {
  let promised = 0;
  let held = 0;
  for (const tenant of tenants) {
    promised += reserveOf(tenant, releases);
    held += heldOf(tenant, releases);
  }
  return gpu.usableBytes - gpu.heldBytes - Math.max(promised, held);
}
