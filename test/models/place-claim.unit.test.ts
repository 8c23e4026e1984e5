import { describe, expect, it } from 'vitest';
import { gatewayAnswer } from '../../src/models/gateway-answer.js';
import { planPool } from '../../src/models/plan-pool.js';
import { gib } from './gpu.js';
import { claim, device, engine, member, NOW, pool, SERVES, sleeper } from './support/snapshot.js';

type Given = NonNullable<Parameters<typeof pool>[0]>;
const THREE = {
  gpus: [device('a/0'), device('b/0'), device('c/0')],
  members: [member('a'), member('b'), member('c')],
};
const on = (name: string) => ({ member: `member-${name}`, gpus: [`h20-${name}/0`] });
const asked = (given: Given, change: Parameters<typeof claim>[1] = {}) =>
  planPool(pool({ ...THREE, ...given, claims: [claim('new', change), ...(given.claims ?? [])] }), NOW);
const placed = (given: Given, change: Parameters<typeof claim>[1] = {}): readonly string[] | undefined =>
  asked(given, change).places.find(({ model }) => model === 'new')?.gpus;
const reason = (given: Given, change: Parameters<typeof claim>[1] = {}) =>
  asked(given, change).reasons.find(({ model }) => model === 'new')?.reason;
const full = (name: string) => [
  engine(`${name}1`, { ...on(name), ...SERVES }),
  engine(`${name}2`, { ...on(name), ...SERVES }),
];

describe('where a claim goes', () => {
  const engines = [engine('a', on('a')), sleeper('b', on('b'))];
  it('spread: fewest awake, then most room; pack: the least room that fits', () => {
    expect(placed({ engines })).toEqual(['h20-c/0']);
    expect(placed({ engines: [...engines, ...full('c')] })).toEqual(['h20-b/0']);
    expect(placed({ engines, policy: { placement: 'pack' } })).toEqual(['h20-a/0']);
  });
  it('where its artifact is cached first, never where it just failed', () => {
    const cached = { members: [member('a', { cached: ['folder://new'] }), member('b'), member('c')] };
    expect(placed({ engines, ...cached }, { artifactUrl: 'folder://new' })).toEqual(['h20-a/0']);
    expect(placed({ engines }, { avoid: [{ gpu: 'h20-c/0', untilMs: NOW + 1 }] })).toEqual(['h20-b/0']);
    expect(placed({ engines }, { avoid: [{ gpu: 'h20-c/0', untilMs: NOW }] })).toEqual(['h20-c/0']);
  });
  it('replicas go to different GPUs', () => {
    expect(asked({}, { replicas: 4 }).places.map(({ gpus }) => gpus)).toEqual([['h20-a/0'], ['h20-b/0'], ['h20-c/0']]);
  });
  it('an instance on two GPUs takes two of one member, and is charged on both', () => {
    const gpus = [device('a/0'), device('b/0'), device('b/1')];
    const plan = asked({ gpus, members: [member('a'), member('b')] }, { gpusPerInstance: 2 });
    expect(plan.places).toMatchObject([{ member: 'member-b', gpus: ['h20-b/0', 'h20-b/1'] }]);
    expect(plan.planned).toEqual({ 'new:claim-new/0': gib(95.1) - gib(30) });
  });
});

describe('why a claim is not placed', () => {
  it('no room names the need, the nearest GPU and its sum, and how many have less', () => {
    const engines = [...full('a'), ...full('b'), engine('x', { ...on('b') }), ...full('c')];
    expect(reason({ engines, policy: { noWakeReserveWhileAsleep: false } })).toEqual({
      code: 'NoRoom',
      message:
        'needs 40 GiB; h20-a/0 could offer at most 15.1 GiB with every neighbour at its floor; 2 other GPUs less',
      data: { needBytes: gib(40), nearest: 'h20-a/0', roomBytes: gib(95.1) - gib(80) },
    });
  });
  it('says what there is now where caches take the room, and what is not known', () => {
    const gpus = [device('a/0'), device('b/0', { holes: ['agent silent'] })];
    const engines = [engine('a', { ...SERVES, kvUsedBytes: gib(40), limitBytes: gib(65.1), plannedBytes: gib(65.1) })];
    expect(reason({ gpus, members: [member('a'), member('b')], engines })?.message).toBe(
      'needs 40 GiB; h20-a/0 could offer at most 55.1 GiB with every neighbour at its floor, and 25.1 GiB as they are now; ' +
        'not known: h20-b/0: agent silent',
    );
  });
  it('a GPU that an engine still leaves, or that is not measured, admits nothing', () => {
    const leaving = engine('a', { phase: 'STOPPING', order: 'stop' });
    const keeps = { policy: { noWakeReserveWhileAsleep: false } };
    expect(reason({ ...keeps, gpus: [device('a/0')], engines: [leaving] })?.message).toContain(
      'h20-a/0: still leaving: an engine',
    );
    expect(reason({ gpus: [device('a/0', { usableBytes: null })] })?.message).toContain('h20-a/0: not measured');
  });
  it('too large for every GPU at once, with the largest; again only where a larger one joins', () => {
    const gpus = [device('a/0'), device('b/0', { usableBytes: gib(80) })];
    expect(reason({ gpus }, { footprintBytes: gib(90) })).toEqual({
      code: 'TooLargeForAnyGpu',
      message: 'needs 100 GiB; the largest GPU of h20, h20-a/0, has 95.1 GiB',
      data: { needBytes: gib(100), largest: 'h20-a/0', largestBytes: gib(95.1) },
    });
    expect(placed({ gpus: [...gpus, device('c/0', { usableBytes: gib(141) })] }, { footprintBytes: gib(90) })).toEqual([
      'h20-c/0',
    ]);
  });
  it('a pool without a member says what its members wait for', () => {
    const none = { gpus: [], members: [] };
    expect(reason(none)).toMatchObject({ code: 'PoolEmpty', message: 'no member of h20 takes models: it has none' });
    const membersWaitFor = { code: 'QuotaExceeded', message: 'lab has 8 of 8 GPUs in use' } as const;
    expect(reason({ ...none, membersWaitFor })).toMatchObject(membersWaitFor);
    expect(reason({ gpus: [device('a/0')], members: [member('a', { state: 'DRAINING' })] })).toMatchObject({
      message: 'no member of h20 takes models: they are draining',
    });
  });
  it('one that failed for good, or failed everywhere a moment ago, is not started again', () => {
    expect(reason({}, { failedForGood: 'no such model' })).toMatchObject({
      code: 'EngineFailed',
      message: 'no such model',
    });
    const avoid = [{ gpu: 'h20-a/0', untilMs: NOW + 60_000 }];
    const plan = asked({ gpus: [device('a/0')] }, { avoid });
    expect(plan.reasons[0]?.reason).toMatchObject({ code: 'EngineFailed' });
    expect(plan.nextLookMs).toBe(NOW + 60_000);
  });
});

describe('what a client is told', () => {
  const never = { startSeconds: null, wakeSeconds: null };
  it.each([
    ['Active', { kind: 'forward' }],
    ['EngineStarting', { kind: 'later', retryAfterSeconds: 10 }],
    ['EngineSleeping', { kind: 'later', retryAfterSeconds: 10, asksWake: true }],
    ['MakingRoom', { kind: 'later', retryAfterSeconds: 20 }],
    ['WaitingForRoom', { kind: 'later', retryAfterSeconds: 20 }],
    ['Moving', { kind: 'later', retryAfterSeconds: 30 }],
    ['PoolEmpty', { kind: 'unavailable', retryAfterSeconds: 30 }],
    ['TooLargeForAnyGpu', { kind: 'never' }],
    ['FailedForGood', { kind: 'never' }],
  ] as const)('%s', (serving, answer) => {
    expect(gatewayAnswer(serving, never, 0)).toMatchObject(answer);
  });
  it('Retry-After is what is left of the time that was measured, and at least half of it', () => {
    const measured = { startSeconds: 60, wakeSeconds: 3 };
    expect(gatewayAnswer('EngineStarting', measured, 10)).toMatchObject({ retryAfterSeconds: 50 });
    expect(gatewayAnswer('EngineStarting', measured, 59)).toMatchObject({ retryAfterSeconds: 30 });
    expect(gatewayAnswer('EngineSleeping', measured, 0)).toMatchObject({ retryAfterSeconds: 3 });
  });
});
