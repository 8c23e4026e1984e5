import { describe, expect, it } from 'vitest';
import { gatewayAnswer } from '../../src/models/gateway-answer.js';
import { type ClaimAsk, placeClaim } from '../../src/models/place-claim.js';
import { asleep, gib, gpu, tenant } from './gpu.js';

const ask = (change: Partial<ClaimAsk> = {}): ClaimAsk => ({
  model: 'c',
  needBytes: gib(40),
  avoid: new Set(),
  cachedOn: new Set(),
  ...change,
});
const spread = { placement: 'spread', releases: true } as const;
const pack = { placement: 'pack', releases: true } as const;
const one = gpu([tenant('a')], { name: 'h20-a/0' });
const two = gpu([asleep('b')], { name: 'h20-b/0' });
const three = gpu([], { name: 'h20-c/0' });

describe('where a claim goes', () => {
  it('spread: fewest awake, then most room; pack: the least room that fits', () => {
    expect(placeClaim([one, two, three], ask(), spread)).toMatchObject({ outcome: 'placed', gpu: 'h20-c/0' });
    expect(placeClaim([one, two], ask(), spread)).toMatchObject({ gpu: 'h20-b/0' });
    expect(placeClaim([one, two, three], ask(), pack)).toMatchObject({ gpu: 'h20-a/0' });
  });
  it('where its artifact is cached first, never where it just failed', () => {
    expect(placeClaim([one, three], ask({ cachedOn: new Set(['h20-a/0']) }), spread)).toMatchObject({ gpu: 'h20-a/0' });
    expect(placeClaim([one, three], ask({ avoid: new Set(['h20-c/0']) }), spread)).toMatchObject({ gpu: 'h20-a/0' });
  });
  it('too large for every GPU is said with the largest', () => {
    expect(placeClaim([one], ask({ needBytes: gib(100) }), spread)).toMatchObject({
      outcome: 'too-large',
      message: 'c needs 100 GiB; the largest GPU of the pool has 95.1 GiB',
    });
  });
  it('no room names the need, the nearest GPU and its sum, and what is not known', () => {
    const full = gpu([tenant('a'), tenant('b')]);
    const fuller = gpu([tenant('a'), tenant('b', { footprintBytes: gib(40) })], { name: 'h20-b/0' });
    const silent = gpu([], { name: 'h20-c/0', holes: ['its agent is silent'] });
    expect(placeClaim([full, fuller, silent], ask(), spread)).toEqual({
      outcome: 'no-room',
      nearest: 'h20-a/0',
      message:
        'c needs 40 GiB; h20-a/0 could offer at most 15.1 GiB with every neighbour at its floor; 1 other GPUs less; ' +
        'not known: h20-c/0: its agent is silent',
    });
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
