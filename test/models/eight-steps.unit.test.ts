import { describe, expect, it } from 'vitest';
import { accountOf, admits } from '../../src/models/account.js';
import { kvLimits } from '../../src/models/kv-limits.js';
import type { PoolGpu } from '../../src/models/tenant.js';
import { asleep, BUSY, gib, gpu, inGib, tenant } from './gpu.js';

const limits = (one: PoolGpu, releases = false): Record<string, number> =>
  Object.fromEntries([...kvLimits(one, releases)].map(([model, bytes]) => [model, inGib(bytes)]));
const promised = (one: PoolGpu, releases: boolean): number => inGib(accountOf(one, releases).promisedBytes);
const room = (one: PoolGpu, releases: boolean): number => inGib(accountOf(one, releases).maximumRoomBytes);

describe('the eight steps of a warm GPU: usable 95.1, every claim 30 + 10, asleep at 1.33', () => {
  it('1: alone 65.1; with a second one 17.55 each, ledger 40 and 80', () => {
    expect(limits(gpu([tenant('a')]))).toEqual({ a: 65.1 });
    expect(promised(gpu([tenant('a')]), false)).toBe(40);
    const both = gpu([tenant('a'), tenant('b')]);
    expect(limits(both)).toEqual({ a: 17.55, b: 17.55 });
    expect(promised(both, false)).toBe(80);
  });
  it('2: a third needs 40 and there is room for 15.1', () => {
    const both = gpu([tenant('a'), tenant('b')]);
    expect(room(both, false)).toBe(15.1);
    expect(admits(both, gib(40), false)).toBe(false);
  });
  it('3: four in flight weigh five times as much', () => {
    const { a, b } = limits(gpu([tenant('a', { load: BUSY }), tenant('b')]));
    expect([a, b]).toEqual([22.583, 12.517]);
  });
  it('4: asleep with its reservation kept it lends its cache, not its room', () => {
    const one = gpu([asleep('a'), tenant('b')]);
    expect(limits(one)).toEqual({ a: 10, b: 25.1 });
    expect(admits(one, gib(40), false)).toBe(false);
  });
  it('5: where the pool releases a third fits', () => {
    expect(admits(gpu([asleep('a'), tenant('b')]), gib(40), true)).toBe(true);
    const three = gpu([asleep('a'), tenant('b'), tenant('c')]);
    expect(promised(three, true)).toBe(81.33);
    expect(limits(three, true)).toEqual({ a: 0, b: 16.885, c: 16.885 });
  });
  it('6: a wake is charged at once, and its neighbours keep their cache until there is room', () => {
    const asked = gpu([asleep('a', { isWakeAsked: true }), tenant('b'), tenant('c')]);
    expect(promised(asked, true)).toBe(120);
    expect(room(asked, true)).toBe(-24.9);
    expect(limits(asked, true)).toEqual({ a: 0, b: 16.885, c: 16.885 });
  });
  it('7: after the exchange the two that are awake share by their load', () => {
    const idle = gpu([tenant('a'), tenant('b'), asleep('c')]);
    expect(limits(idle, true)).toMatchObject({ a: 16.885, b: 16.885 });
    expect(limits(gpu([tenant('a', { load: BUSY }), tenant('b'), asleep('c')]), true)).toMatchObject({
      a: 21.475,
      b: 12.295,
    });
  });
  it('8: while a room is held and not covered no limit rises; then 16.22 each', () => {
    const at = { limitBytes: gib(16.885) };
    const waiting = gpu([tenant('a', at), tenant('b', at), asleep('c')], { heldBytes: gib(40) });
    expect(room(waiting, true)).toBe(-26.23);
    expect(limits(waiting, true)).toMatchObject({ a: 16.885, b: 16.885 });
    const placed = gpu([asleep('a'), tenant('b'), asleep('c'), tenant('d')]);
    expect(promised(placed, true)).toBe(82.66);
    expect(limits(placed, true)).toMatchObject({ b: 16.22, d: 16.22 });
    const busy = gpu([asleep('a'), tenant('b', { load: BUSY }), asleep('c'), tenant('d')]);
    expect(limits(busy, true)).toMatchObject({ b: 20.367, d: 12.073 });
  });
});
