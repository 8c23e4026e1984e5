import { describe, expect, it } from 'vitest';
import { believableResidue } from '../../src/models/believable-residue.js';
import { isTurnDue } from '../../src/models/is-turn-due.js';
import { planPool } from '../../src/models/plan-pool.js';
import { gib, inGib } from './gpu.js';
import { ago, claim, device, engine, member, NOW, pool, SERVES, sleeper } from './support/snapshot.js';

type Given = NonNullable<Parameters<typeof pool>[0]>;
const plan = (given: Given) => planPool(pool(given), NOW);
const orders = (given: Given) => plan(given).orders.map(({ kind, model, because }) => `${kind} ${model}: ${because}`);
const TWO = { gpus: [device('a/0'), device('b/0')], members: [member('a'), member('b')] };
const alone = { limitBytes: gib(95.1) - gib(30), plannedBytes: gib(95.1) - gib(30) };

describe('sleep', () => {
  const minute = { sleepAfterSeconds: 60 };
  it.each([
    ['idle for the threshold', { idleSinceMs: ago(60) }, {}, ['sleep a: idle for 60 s']],
    ['idle for less', { idleSinceMs: ago(59) }, {}, []],
    ['that serves', SERVES, {}, []],
    ['whose load could not be read', { running: null }, {}, []],
    ['that is pinned', {}, { pinned: true }, []],
    ['that never sleeps', {}, { neverSleeps: true }, []],
    ['with a longer threshold of its own', {}, { sleepAfterMs: 90_000 }, []],
    ['that was asked for', {}, { wakeAskedMs: NOW }, []],
    ['by hand, idle', { idleSinceMs: NOW }, { sleepAsked: true, neverSleeps: true }, ['sleep a: by hand']],
    ['by hand, serving', SERVES, { sleepAsked: true }, []],
  ])('of one %s', (_title, change, figures, expected) => {
    expect(
      orders({ policy: minute, engines: [engine('a', { ...alone, ...change })], claims: [claim('a', figures)] }),
    ).toEqual(expected);
  });
  it('is looked at again at the threshold; without one models sleep only to make room', () => {
    const engines = [engine('a', { ...alone, idleSinceMs: ago(20) })];
    expect(plan({ policy: minute, engines }).nextLookMs).toBe(NOW + 40_000);
    expect(plan({ engines }).nextLookMs).toBeNull();
  });
  it('a residue is believed only where half of what it took is gone', () => {
    const footprintBytes = gib(30);
    expect(believableResidue({ footprintBytes, awakeBytes: gib(35), asleepBytes: gib(1.33) })).toBe(gib(1.33));
    expect(believableResidue({ footprintBytes, awakeBytes: gib(16), asleepBytes: gib(1.33) })).toBe(gib(1.33));
    expect(believableResidue({ footprintBytes, awakeBytes: gib(35), asleepBytes: gib(25) })).toBeNull();
    expect(believableResidue({ footprintBytes, awakeBytes: null, asleepBytes: gib(16) })).toBeNull();
    expect(believableResidue({ footprintBytes, awakeBytes: gib(35), asleepBytes: null })).toBeNull();
  });
});

describe('leaving', () => {
  it('engines of a claim that ends stop, and hold what they have until they are gone', () => {
    const given = { engines: [engine('a'), engine('b')], claims: [claim('a', { isEnding: true })] };
    expect(orders(given)).toEqual(['stop a: a ends']);
    expect(plan(given).limits).toEqual([]);
    const leaving = { ...given, engines: [engine('a', { phase: 'STOPPING', order: 'stop' }), engine('b')] };
    expect(plan(leaving)).toMatchObject({ orders: [], limits: [] });
    expect(inGib(plan({ engines: [engine('b')] }).planned['b'] ?? 0)).toBe(65.1);
  });
  it('one that failed is stopped, and its claim placed elsewhere', () => {
    const claims = [claim('a', { avoid: [{ gpu: 'h20-a/0', untilMs: NOW + 1000 }] })];
    const given = { ...TWO, engines: [engine('a', { phase: 'FAILED' })], claims };
    expect(orders(given)).toEqual(['stop a: its engine failed']);
    expect(plan(given).places).toMatchObject([{ gpus: ['h20-b/0'], movesFrom: null }]);
  });
  it('a member that drains: its engines move where there is room, else they stop', () => {
    const members = [member('a', { state: 'DRAINING' }), member('b')];
    const given = { ...TWO, members, engines: [engine('a', alone)] };
    expect(plan(given)).toMatchObject({ orders: [], places: [{ gpus: ['h20-b/0'], movesFrom: 'a' }] });
    const one = { members: [member('a', { state: 'DRAINING' })], engines: [engine('a', alone)] };
    expect(orders(one)).toEqual(['stop a: h20-a is drained, and no other member has room']);
  });
});

describe('room for new claims', () => {
  const full = (name: string, idle: boolean) =>
    ['1', '2'].map((n) =>
      engine(`${name}${n}`, {
        member: `member-${name}`,
        gpus: [`h20-${name}/0`],
        ...(idle ? {} : SERVES),
        lastResidueBytes: gib(1),
      }),
    );
  it('is made by the one that waits longest alone, where the fewest sleep', () => {
    const large = claim('large', { createdMs: ago(100), footprintBytes: gib(70) });
    const small = claim('small', { createdMs: ago(50) });
    const { holds, orders: given } = plan({
      ...TWO,
      engines: [...full('a', true), ...full('b', true)],
      claims: [large, small],
    });
    expect(holds).toMatchObject([{ claimId: 'claim-large', gpus: ['h20-a/0'], bytes: gib(80) }]);
    expect(given).toMatchObject([{ kind: 'sleep', model: 'a1', for: 'large' }]);
    const beside = [...full('a', true), ...full('b', true).slice(0, 1)];
    const fewer = plan({ ...TWO, engines: beside, claims: [large] });
    expect(fewer.holds).toMatchObject([{ gpus: ['h20-b/0'] }]);
  });
  it('is not made where reservations are kept, nor of those that serve', () => {
    expect(
      orders({ policy: { noWakeReserveWhileAsleep: false }, engines: full('a', true), claims: [claim('n')] }),
    ).toEqual([]);
    expect(orders({ engines: full('a', false), claims: [claim('n')] })).toEqual([]);
  });
  it('is held for its claim alone: nobody else is placed in it, and it ends after two minutes', () => {
    const hold = { claimId: 'claim-first', replica: 0, gpus: ['h20-a/0'], bytes: gib(60), untilMs: NOW + 1000 };
    const claims = [
      claim('first', { createdMs: ago(90), footprintBytes: gib(50) }),
      claim('second', { createdMs: ago(60) }),
    ];
    const engines = [engine('a1', { ...SERVES, ...alone })];
    expect(plan({ engines, claims, holds: [hold] })).toMatchObject({ places: [], holds: [{ claimId: 'claim-first' }] });
    const over = plan({ engines, claims, holds: [{ ...hold, untilMs: NOW }] });
    expect(over).toMatchObject({ places: [{ model: 'second' }], holds: [] });
  });
  it('a wake and a new claim never share room', () => {
    const engines = [sleeper('a'), engine('b', SERVES)];
    const given = { engines, claims: [claim('a', { wakeAskedMs: NOW, lastRequestMs: NOW }), claim('n')] };
    expect(plan(given)).toMatchObject({ orders: [{ kind: 'wake', model: 'a' }], places: [] });
  });
});

describe('KV limits of a pool', () => {
  it('an engine on two GPUs has the smaller share of both, and what that frees is shared out again', () => {
    const both = {
      gpus: ['h20-a/0', 'h20-a/1'],
      limitBytes: null,
      plannedBytes: null,
      phase: 'STARTING',
      order: 'start',
    } satisfies Parameters<typeof engine>[1];
    const given = {
      gpus: [device('a/0'), device('a/1')],
      claims: [claim('big', { gpusPerInstance: 2 })],
      engines: [engine('big', both), engine('a'), engine('b', { gpus: ['h20-a/1'], ...SERVES })],
    };
    const { planned } = plan(given);
    expect([planned['big'], planned['b'], planned['a']].map((bytes) => inGib(bytes ?? 0))).toEqual([
      12.517, 22.583, 22.583,
    ]);
  });
  it('priority multiplies the weight, kvMax caps and frees, kvMin is the floor', () => {
    const fresh = { limitBytes: null, plannedBytes: null, phase: 'STARTING', order: 'start' } as const;
    const engines = [engine('a', fresh), engine('b', fresh)];
    const given = (a: Parameters<typeof claim>[1]) => plan({ engines, claims: [claim('a', a)] }).planned;
    expect(inGib(given({ priority: 2 })['a'] ?? 0)).toBe(21.325);
    expect(given({ kvMaxBytes: gib(12) })).toEqual({ a: gib(12), b: gib(95.1) - gib(72) });
  });
  it('a limit that nobody can read is written down first', () => {
    const [writes] = plan({ engines: [engine('a', { limitBytes: null }), engine('b')] }).limits;
    expect(writes).toMatchObject({ lower: [{ model: 'a', fromBytes: null }], raise: [] });
  });
});

describe('whether a look wakes the planner', () => {
  const at = (change: Parameters<typeof engine>[1]) => pool({ engines: [engine('a', change), engine('b')] });
  it.each([
    ['nothing is due', {}, false],
    ['one is short for the first time', SERVES, true],
    ['one was short and is not any more', { shortBefore: true }, true],
    ['a limit in force is not the recorded one', { limitBytes: gib(3) }, true],
  ])('%s', (_title, change, due) => {
    expect(isTurnDue(at(change), NOW)).toBe(due);
  });
});
