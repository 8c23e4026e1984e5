import { describe, expect, it } from 'vitest';
import { planPool } from '../../src/models/plan-pool.js';
import { gib, inGib } from './gpu.js';
import { ago, claim, engine, NOW, pool, SERVES, sleeper } from './support/snapshot.js';

type Given = NonNullable<Parameters<typeof pool>[0]>;
const DEMO = { sleepToMakeRoomAfterSeconds: 20 };
const KEEPS = { noWakeReserveWhileAsleep: false };
const plan = ({ policy = {}, ...given }: Given) => planPool(pool({ policy: { ...DEMO, ...policy }, ...given }), NOW);
const at = (gibs: number) => ({ limitBytes: gib(gibs), plannedBytes: gib(gibs) });
const asked = (model: string) => claim(model, { wakeAskedMs: ago(1), lastRequestMs: NOW });
const planned = (given: Given): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(plan(given).planned).map(([id, bytes]) => [id, inGib(bytes)]));
const writes = (given: Given): readonly string[] =>
  plan(given).limits.flatMap(({ lower, raise }) => [
    ...lower.map(({ model, toBytes }) => `lower ${model} ${inGib(toBytes)}`),
    ...raise.map(({ model, toBytes }) => `raise ${model} ${inGib(toBytes)}`),
  ]);

describe('the eight steps, planned', () => {
  it('1: a alone gets 65.1; b arrives: a is lowered to 17.55 first, then b starts at 17.55', () => {
    expect(plan({ claims: [claim('a')] })).toMatchObject({ places: [{ model: 'a', gpus: ['h20-a/0'] }] });
    expect(writes({ claims: [claim('a')] })).toEqual(['raise a 65.1']);
    const given = { engines: [engine('a', at(65.1))], claims: [claim('b')] };
    expect(writes(given)).toEqual(['lower a 17.55', 'raise b 17.55']);
  });
  it('2: c waits and says its sum; one for 100 is too large for any GPU', () => {
    const claims = [claim('c'), claim('x', { footprintBytes: gib(90) })];
    const { reasons, places } = plan({ policy: KEEPS, engines: [engine('a'), engine('b')], claims });
    expect(places).toEqual([]);
    expect(reasons.map(({ model, reason }) => [model, reason?.code, reason?.message])).toEqual([
      ['a', undefined, undefined],
      ['b', undefined, undefined],
      ['c', 'NoRoom', 'needs 40 GiB; h20-a/0 could offer at most 15.1 GiB with every neighbour at its floor'],
      ['x', 'TooLargeForAnyGpu', 'needs 100 GiB; the largest GPU of h20, h20-a/0, has 95.1 GiB'],
    ]);
  });
  it('3: load moves the split at the second look, 22.583 against 12.517; without load it stays', () => {
    const first = { engines: [engine('a', SERVES), engine('b')] };
    expect(plan(first)).toMatchObject({ short: ['a'], limits: [] });
    const second = { engines: [engine('a', { ...SERVES, shortBefore: true }), engine('b')] };
    expect(planned(second)).toEqual({ a: 22.583, b: 12.517 });
    const split = [engine('a', at(22.5)), engine('b', at(12.6))];
    expect(plan({ engines: split })).toMatchObject({ limits: [], short: [] });
  });
  it('4: a asleep with its reservation kept: b 25.1; a request wakes it at 17.55 each', () => {
    const engines = [sleeper('a', at(17.55)), engine('b')];
    expect(writes({ policy: KEEPS, engines })).toEqual(['lower a 10', 'raise b 25.1']);
    const woken = { policy: KEEPS, engines: [sleeper('a', at(10)), engine('b', at(25.1))], claims: [asked('a')] };
    expect(plan(woken).orders).toMatchObject([{ kind: 'wake', model: 'a' }]);
    expect(writes(woken)).toEqual(['lower b 17.55', 'raise a 17.55']);
  });
  it('5: the pool releases: c fits beside, b and c at 16.885', () => {
    const given = { engines: [sleeper('a', at(10)), engine('b', at(25.1))], claims: [claim('c')] };
    expect(plan(given).places).toMatchObject([{ model: 'c' }]);
    expect(writes(given)).toEqual(['lower a 0', 'lower b 16.885', 'raise c 16.885']);
  });
  const three = [sleeper('a'), engine('b', { ...at(16.885), idleSinceMs: ago(60) }), engine('c', at(16.885))];
  it('6: a request for a: b, idle the longest, sleeps; then a wakes, a and c at 16.885', () => {
    const idle = three.map((each) => (each.model === 'c' ? { ...each, idleSinceMs: ago(30) } : each));
    expect(plan({ engines: idle, claims: [asked('a')] }).orders).toMatchObject([
      { kind: 'sleep', model: 'b', for: 'a' },
    ]);
    expect(writes({ engines: idle, claims: [asked('a')] })).toEqual([]);
    const then = { engines: [sleeper('a'), sleeper('b', at(16.885)), engine('c', at(16.885))], claims: [asked('a')] };
    expect(plan(then).orders).toMatchObject([{ kind: 'wake', model: 'a' }]);
    expect(writes(then)).toEqual(['lower b 0', 'raise a 16.885']);
  });
  it('7: while a and c serve b waits; c idle for 20 s sleeps; a busy and b then have 21.475 and 12.295', () => {
    const a = engine('a', { ...at(16.885), ...SERVES });
    const busy = { engines: [a, sleeper('b'), engine('c', { ...at(16.885), ...SERVES })], claims: [asked('b')] };
    expect(plan(busy)).toMatchObject({ orders: [], places: [] });
    expect(plan(busy).reasons.find(({ model }) => model === 'b')?.reason?.code).toBe('WaitingForRoom');
    const c = engine('c', { ...at(16.885), idleSinceMs: ago(20), lastResidueBytes: gib(1.33) });
    expect(plan({ ...busy, engines: [a, sleeper('b'), c] }).orders).toMatchObject([{ kind: 'sleep', model: 'c' }]);
    const slept = { engines: [a, sleeper('b'), sleeper('c', at(16.885))], claims: [asked('b')] };
    expect(plan(slept).orders).toMatchObject([{ kind: 'wake', model: 'b' }]);
    expect(planned(slept)).toMatchObject({ a: 21.475, b: 12.295, c: 0 });
  });
  it('8: d arrives: a sleeps, 40 are held for d and nothing rises; then d is placed, 20.367 and 12.073 with b busy', () => {
    const b = engine('b', { ...at(16.885), ...SERVES });
    const arrives = { engines: [engine('a', at(16.885)), b, sleeper('c')], claims: [claim('d')] };
    const held = { claimId: 'claim-d', gpus: ['h20-a/0'], bytes: gib(40), untilMs: NOW + 120_000 };
    expect(plan(arrives)).toMatchObject({
      orders: [{ kind: 'sleep', model: 'a', for: 'd' }],
      holds: [held],
      limits: [],
    });
    expect(plan(arrives).reasons.find(({ model }) => model === 'd')?.reason).toMatchObject({
      code: 'MakingRoom',
      message: 'a sleeps to make room on h20-a/0',
    });
    const waits = { ...arrives, engines: [engine('a', { ...at(16.885), order: 'sleep' }), b, sleeper('c')] };
    const { because: _because, ...hold } = { replica: 0, because: '', ...held };
    expect(plan({ ...waits, holds: [hold] })).toMatchObject({ orders: [], places: [], limits: [] });
    const slept = { ...arrives, engines: [sleeper('a', at(16.885)), b, sleeper('c')], holds: [hold] };
    expect(plan(slept)).toMatchObject({ places: [{ model: 'd' }], holds: [] });
    expect(planned(slept)).toMatchObject({ a: 0, b: 20.367, c: 0, 'new:claim-d/0': 12.073 });
  });
});
