import type { Timestamp } from '../contract/ids.js';

/** Milliseconds of an instant. */
export const msOf = (at: Timestamp): number => Date.parse(at);

/** `2026-11-30T13:20:00.000Z`. */
export const timestampOf = (ms: number): Timestamp => new Date(ms).toISOString();

/** `null` for an end that never comes. */
export const timestampOrNull = (ms: number): Timestamp | null => (Number.isFinite(ms) ? timestampOf(ms) : null);

/** The next moment at which time alone changes a decision: the earliest that was named after `nowMs`. */
export interface Alarm {
  readonly nowMs: number;
  nextMs: number;
}

export const alarm = (nowMs: number): Alarm => ({ nowMs, nextMs: Number.POSITIVE_INFINITY });

/** A moment that has passed, or never comes, wakes nobody. */
export function wakeAt(clock: Alarm, ms: number): void {
  if (ms > clock.nowMs && ms < clock.nextMs) clock.nextMs = ms;
}
