import { describe, expect, it } from 'vitest';
import { planPool } from '../../src/models/plan-pool.js';
import { gib } from './gpu.js';
import { ago, claim, device, engine, member, NOW, pool, SERVES, sleeper } from './support/snapshot.js';

type Given = NonNullable<Parameters<typeof pool>[0]>;
const TWENTY = { sleepToMakeRoomAfterSeconds: 20 };
const wanted = (model: string, seconds = 1, change: Parameters<typeof claim>[1] = {}) =>
  claim(model, { wakeAskedMs: ago(seconds), lastRequestMs: NOW, ...change });
const turn = ({ policy = {}, ...given }: Given) => planPool(pool({ policy: { ...TWENTY, ...policy }, ...given }), NOW);
const orders = (given: Given) => turn(given).orders.map(({ kind, model }) => `${kind} ${model}`);
const told = (given: Given, model: string) => turn(given).reasons.find((each) => each.model === model)?.reason;
const idle = (model: string, seconds: number, change: Parameters<typeof engine>[1] = {}) =>
  engine(model, { idleSinceMs: ago(seconds), lastResidueBytes: gib(1.33), ...change });

describe('a turn over the wakes that were asked for', () => {
  it('wakes at once where both rooms hold it', () => {
    expect(orders({ claims: [wanted('a')], engines: [sleeper('a'), engine('b', SERVES)] })).toEqual(['wake a']);
  });
  it('puts to sleep who is idle the longest, one at a time', () => {
    const engines = [sleeper('a'), idle('b', 60), idle('c', 30)];
    expect(turn({ claims: [wanted('a')], engines }).orders).toMatchObject([
      { kind: 'sleep', model: 'b', for: 'a', because: 'makes room: a was asked for' },
    ]);
    expect(told({ claims: [wanted('a')], engines }, 'a')).toMatchObject({
      code: 'MakingRoom',
      message: 'b sleeps so that a can wake',
    });
  });
  it('orders nobody else while one is on its way to sleep', () => {
    const engines = [sleeper('a'), idle('b', 60, { order: 'sleep' }), idle('c', 30)];
    expect(orders({ claims: [wanted('a')], engines })).toEqual([]);
    expect(told({ claims: [wanted('a')], engines }, 'a')).toMatchObject({ code: 'MakingRoom' });
  });
  it('waits while all serve, and says when the first may sleep', () => {
    const serving = [engine('a', SERVES), sleeper('b'), engine('c', SERVES)];
    expect(told({ claims: [wanted('b')], engines: serving }, 'b')).toMatchObject({
      code: 'WaitingForRoom',
      message: 'b waits for room: a serves, c serves',
    });
    const plan = turn({ claims: [wanted('b')], engines: [engine('a', SERVES), sleeper('b'), idle('c', 5)] });
    expect(plan.orders).toEqual([]);
    expect(plan.nextLookMs).toBe(NOW + 15_000);
  });
  it('names neighbours to their own project alone, and counts the others', () => {
    const of = (model: string, project: string) => claim(model, { project });
    const claims = [wanted('a', 1, { project: 'x/p' }), of('b', 'x/p'), of('c', 'x/q'), of('d', 'x/q')];
    const making = { claims: [...claims.slice(0, 1), ...claims.slice(2, 3)], engines: [sleeper('a'), idle('c', 60)] };
    const full = { ...making, gpus: [device('a/0', { usableBytes: gib(60) })] };
    expect(turn(full).orders).toMatchObject([
      {
        model: 'c',
        for: 'a model of another project',
        because: 'makes room: a model of another project was asked for',
      },
    ]);
    expect(told(full, 'a')).toMatchObject({
      message: 'a model of another project sleeps so that a can wake',
      data: { sleeps: ['a model of another project'] },
    });
    const engines = [sleeper('a'), engine('b', SERVES), engine('c', SERVES), engine('d', SERVES)];
    expect(told({ claims, engines }, 'a')?.message).toBe(
      'a waits for room: b serves, a model of another project serves (2)',
    );
  });
  it.each([
    ['woke a moment ago', { awakeSinceMs: ago(1) }, {}],
    ['is pinned', {}, { pinned: true }],
    ['never sleeps', {}, { neverSleeps: true }],
    ['was in use a moment ago', { idleSinceMs: ago(2) }, {}],
    ['serves', { running: null }, {}],
    ['could not sleep a moment ago', { noSleepBeforeMs: NOW + 5000 }, {}],
    ['woke a moment ago', {}, { minimumAwakeMs: 7_200_000 }],
  ])('lets nobody be slept who %s', (words, change, figures) => {
    const claims = [wanted('a'), claim('b', figures), claim('c', figures)];
    const engines = [sleeper('a'), idle('b', 60, change), idle('c', 60, change)];
    expect(orders({ claims, engines })).toEqual([]);
    expect(told({ claims, engines }, 'a')?.message).toBe(`a waits for room: b ${words}, c ${words}`);
  });
  it('nobody sleeps whose weights find no host memory', () => {
    const given = {
      claims: [wanted('a')],
      engines: [sleeper('a'), idle('b', 60), engine('c', SERVES)],
      members: [member('a', { hostMemoryBytes: gib(60), hostUsedBytes: gib(15) })],
    };
    expect(told(given, 'a')?.message).toBe('a waits for room: b finds no host memory for its weights, c serves');
    expect(orders({ ...given, members: [member('a', { hostMemoryBytes: gib(61), hostUsedBytes: gib(15) })] })).toEqual([
      'sleep b',
    ]);
  });
  it('goes in the order of asking, and no room is given twice', () => {
    const given = {
      claims: [wanted('a', 9), wanted('b', 5)],
      engines: [sleeper('a'), sleeper('b'), engine('c', SERVES)],
    };
    expect(orders(given)).toEqual(['wake a']);
    expect(told(given, 'b')).toMatchObject({ code: 'WaitingForRoom' });
  });
  it('two that make room take different neighbours', () => {
    const large = { footprintBytes: gib(35) };
    const claims = [wanted('a', 9), wanted('b', 5), claim('c', large), claim('d', large)];
    expect(turn({ claims, engines: [sleeper('a'), sleeper('b'), idle('c', 60), idle('d', 50)] }).orders).toMatchObject([
      { model: 'c', kind: 'sleep', for: 'a' },
      { model: 'd', kind: 'sleep', for: 'b' },
    ]);
  });
  it('room that comes for one is not taken by one behind it', () => {
    const claims = [wanted('a', 9), wanted('b', 5, { footprintBytes: gib(4), kvFloorBytes: gib(8) })];
    const engines = [sleeper('a'), sleeper('b'), idle('c', 60), engine('d', SERVES)];
    expect(turn({ claims, engines }).orders.map(({ kind, model }) => `${kind} ${model}`)).toEqual([
      'sleep c',
      'wake b',
    ]);
    const tight = [
      wanted('a', 9, { footprintBytes: gib(41) }),
      wanted('b', 5, { footprintBytes: gib(4), kvFloorBytes: gib(8) }),
    ];
    expect(orders({ claims: tight, engines })).toEqual(['sleep c']);
  });
  it('one that cannot be met does not block a smaller one behind it', () => {
    const claims = [wanted('a', 9, { footprintBytes: gib(60) }), wanted('b', 5, { footprintBytes: gib(20) })];
    expect(orders({ claims, engines: [sleeper('a'), sleeper('b'), engine('c', SERVES)] })).toEqual(['wake b']);
  });
  it('always has the room of a sleeper whose reservation is kept', () => {
    const policy = { noWakeReserveWhileAsleep: false };
    const asleep = sleeper('a', { limitBytes: gib(10), plannedBytes: gib(10) });
    expect(orders({ policy, claims: [wanted('a')], engines: [asleep, engine('b', SERVES)] })).toEqual(['wake a']);
  });
  it('is called off when nobody asked for five minutes', () => {
    const claims = [wanted('a', 400, { lastRequestMs: ago(300) })];
    const plan = turn({ claims, engines: [sleeper('a'), engine('b', SERVES)] });
    expect(plan.calledOff).toMatchObject([{ model: 'a', because: 'nobody asked for a for 300 s' }]);
    expect(plan.orders).toEqual([]);
  });
  it('moves to another member where nobody can sleep yet, and the old one goes once the new one serves', () => {
    const two = { gpus: [device('a/0'), device('b/0')], members: [member('a'), member('b')] };
    const engines = [sleeper('a'), engine('b', SERVES), engine('c', SERVES)];
    const plan = turn({ ...two, claims: [wanted('a')], engines });
    expect(plan.places).toMatchObject([{ model: 'a', gpus: ['h20-b/0'], movesFrom: 'a' }]);
    expect(plan.reasons.find(({ model }) => model === 'a')?.reason).toMatchObject({ code: 'Moving' });
    const there = { id: 'a2', member: 'member-b', gpus: ['h20-b/0'], movesFrom: 'a' };
    const starting = {
      ...two,
      claims: [wanted('a')],
      engines: [...engines, engine('a', { ...there, phase: 'STARTING', order: 'start' })],
    };
    expect(turn(starting)).toMatchObject({ orders: [], places: [] });
    expect(told(starting, 'a')).toMatchObject({ code: 'Moving' });
    expect(turn({ ...two, claims: [claim('a')], engines: [...engines, engine('a', there)] }).orders).toMatchObject([
      { kind: 'stop', instanceId: 'a', because: 'a serves on h20-b/0' },
    ]);
  });
  it('nobody wakes where the agent is silent', () => {
    const gpus = [device('a/0', { holes: ['agent silent'] })];
    expect(told({ gpus, claims: [wanted('a')], engines: [sleeper('a')] }, 'a')).toMatchObject({
      code: 'WaitingForRoom',
      message: 'a waits for room: not known: h20-a/0: agent silent',
    });
  });
});
