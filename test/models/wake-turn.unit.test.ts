import { describe, expect, it } from 'vitest';
import type { Restfulness } from '../../src/models/sleepers.js';
import { type WakeAsk, wakeTurn } from '../../src/models/wake-turn.js';
import { asleep, gib, gpu, tenant } from './gpu.js';

const NOW = 1_000_000;
const rules = { nowMs: NOW, sleepToMakeRoomAfterMs: 20_000, releases: true, callOffAfterMs: 300_000 };
const ask = (model: string, agoMs = 0): WakeAsk => ({ model, askedMs: NOW - agoMs, lastRequestMs: NOW });

/** Idle for so many seconds, null: it serves. */
const rest =
  (idle: Record<string, number | null>, change: Partial<Restfulness> = {}) =>
  (model: string): Restfulness => {
    const seconds = idle[model] ?? null;
    return {
      idleSinceMs: seconds === null ? null : NOW - seconds * 1000,
      awakeSinceMs: NOW - 3_600_000,
      isPinned: false,
      neverSleeps: false,
      lastResidueBytes: gib(1.33),
      ...change,
    };
  };

const ruled = (base: typeof rules, restOf: ReturnType<typeof rest>) => ({ ...base, restOf });

describe('a turn over the wakes that were asked for', () => {
  it('wakes at once where both rooms hold it', () => {
    const one = gpu([asleep('a', { isWakeAsked: true }), tenant('b')]);
    expect(wakeTurn(one, [ask('a')], ruled(rules, rest({ b: null })))).toEqual([{ model: 'a', step: 'wake' }]);
  });
  it('puts to sleep who is idle the longest, one at a time', () => {
    const one = gpu([asleep('a', { isWakeAsked: true }), tenant('b'), tenant('c')]);
    expect(wakeTurn(one, [ask('a')], ruled(rules, rest({ b: 60, c: 30 })))).toMatchObject([
      { step: 'make-room', sleeps: 'b' },
    ]);
  });
  it('waits while all serve, and says when the first may sleep', () => {
    const one = gpu([tenant('a'), asleep('b', { isWakeAsked: true }), tenant('c')]);
    expect(wakeTurn(one, [ask('b')], ruled(rules, rest({ a: null, c: null })))).toEqual([
      { model: 'b', step: 'wait', inMs: null, message: 'b waits for room: a serves, c serves' },
    ]);
    expect(wakeTurn(one, [ask('b')], ruled(rules, rest({ a: null, c: 5 })))).toMatchObject([
      { step: 'wait', inMs: 15_000 },
    ]);
  });
  it('lets nobody be slept who woke a moment ago, or is pinned', () => {
    const one = gpu([asleep('a', { isWakeAsked: true }), tenant('b'), tenant('c')]);
    const woken = rest({ b: 60, c: 60 }, { awakeSinceMs: NOW - 1000 });
    expect(wakeTurn(one, [ask('a')], ruled(rules, woken))).toMatchObject([{ step: 'wait', inMs: 19_000 }]);
    expect(wakeTurn(one, [ask('a')], ruled(rules, rest({ b: 60, c: 60 }, { isPinned: true })))).toMatchObject([
      { step: 'wait', message: 'a waits for room: b is pinned, c is pinned' },
    ]);
  });
  it('goes in the order of asking, and no room is given twice', () => {
    const one = gpu([asleep('a', { isWakeAsked: true }), asleep('b', { isWakeAsked: true }), tenant('c')]);
    expect(wakeTurn(one, [ask('b', 5), ask('a', 9)], ruled(rules, rest({ c: null })))).toMatchObject([
      { model: 'a', step: 'wake' },
      { model: 'b', step: 'wait' },
    ]);
  });
  it('two that make room take different neighbours', () => {
    const one = gpu(
      [
        asleep('a', { isWakeAsked: true }),
        asleep('b', { isWakeAsked: true }),
        tenant('c', { footprintBytes: gib(35) }),
        tenant('d', { footprintBytes: gib(35) }),
      ],
      {},
    );
    expect(wakeTurn(one, [ask('a', 9), ask('b', 5)], ruled(rules, rest({ c: 60, d: 50 })))).toMatchObject([
      { model: 'a', step: 'make-room', sleeps: 'c' },
      { model: 'b', step: 'make-room', sleeps: 'd' },
    ]);
  });
  it('one that cannot be met does not block a smaller one behind it', () => {
    const large = asleep('a', { isWakeAsked: true, footprintBytes: gib(60) });
    const small = asleep('b', { isWakeAsked: true, footprintBytes: gib(20) });
    const one = gpu([large, small, tenant('c')]);
    expect(wakeTurn(one, [ask('a', 9), ask('b', 5)], ruled(rules, rest({ c: null })))).toMatchObject([
      { model: 'a', step: 'wait' },
      { model: 'b', step: 'wake' },
    ]);
  });
  it('always has the room of a sleeper whose reservation is kept', () => {
    const one = gpu([asleep('a', { isWakeAsked: true }), tenant('b')]);
    const keeping = { ...rules, releases: false };
    expect(wakeTurn(one, [ask('a')], ruled(keeping, rest({ b: null })))).toEqual([{ model: 'a', step: 'wake' }]);
  });
  it('is called off when nobody asks any more', () => {
    const one = gpu([asleep('a', { isWakeAsked: true }), tenant('b')]);
    const old = { ...ask('a'), lastRequestMs: NOW - 300_000 };
    expect(wakeTurn(one, [old], ruled(rules, rest({ b: null })))).toMatchObject([{ step: 'call-off' }]);
  });
});
