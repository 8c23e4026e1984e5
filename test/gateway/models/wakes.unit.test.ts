import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  activeOn,
  answerJson,
  hello,
  routeOf,
  type SimulatedEngine,
  SimulatedLedger,
  startEngine,
  startModels,
  type TestModels,
  until,
} from './support.js';

let ledger: SimulatedLedger;
let models: TestModels;
let engine: SimulatedEngine;
let key: string;

beforeEach(async () => {
  ledger = new SimulatedLedger();
  key = ledger.addKey();
  engine = await startEngine(answerJson);
  ledger.put(routeOf('m'));
  models = await startModels(ledger);
});
afterEach(async () => {
  ledger.isAway = false;
  await models.close();
  await engine.close();
});
const ask = (more: RequestInit = {}) => models.ask(key, hello('m'), more);

describe('a wake', () => {
  it('is asked once for many requests, and its pool is told; again after a second at the earliest', async () => {
    const startedMs = Date.now();
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    await until(() => ledger.kicks.length > 0);
    expect(ledger.wakes.length).toBeLessThanOrEqual(1 + (Date.now() - startedMs) / 1_000);
    expect(ledger.wakes[0]).toEqual([{ claimId: 'clm_m', lastRequestMs: expect.any(Number) as number }]);
    expect(ledger.wakes[0]?.[0]?.lastRequestMs).toBeGreaterThanOrEqual(startedMs);
    const asked = ledger.wakes.length;
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    await ask();
    await until(() => ledger.wakes.length > asked);
  });

  it('of several models at once goes in one batch', async () => {
    for (const name of ['a', 'b', 'c']) ledger.put(routeOf(name));
    const { askWakes } = ledger.models;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    Object.assign(ledger.models, {
      askWakes: async (...asked: Parameters<typeof askWakes>) => {
        await released;
        return askWakes(...asked);
      },
    });
    await ask();
    for (const name of ['a', 'b', 'c']) await models.ask(key, hello(name));
    release();
    await until(() => ledger.wakes.length === 2);
    expect(ledger.wakes[1]?.map(({ claimId }) => claimId)).toEqual(['clm_a', 'clm_b', 'clm_c']);
  });

  it('that could not be asked is asked again; a pool that could not be told is no failure', async () => {
    expect((await models.ask(key, hello('none'))).status).toBe(404);
    ledger.isAway = true;
    expect((await ask()).error.code).toBe('model_asleep');
    await new Promise((resolve) => setTimeout(resolve, 50));
    ledger.isAway = false;
    await until(() => ledger.wakes.length === 1);
  });
});

describe('a claim that wants its requests held', () => {
  const held = (maxWaitSeconds: number, maxQueue: number): void =>
    ledger.put(routeOf('m', { hold: { maxWaitSeconds, maxQueue } }));
  const gauge = async (): Promise<string> =>
    /berth_model_requests_held\{.*\} (\d+)/.exec(await models.metrics())?.[1] ?? '';

  const untilHeld = async (count: string): Promise<void> => {
    while ((await gauge()) !== count) await new Promise((resolve) => setTimeout(resolve, 5));
  };

  it('has them forwarded when it serves, after one wake for all', async () => {
    held(10, 100);
    const asked = Array.from({ length: 20 }, () => ask());
    await untilHeld('20');
    ledger.put({ ...activeOn('m', engine.port), hold: { maxWaitSeconds: 10, maxQueue: 100 } });
    expect((await Promise.all(asked)).every(({ status }) => status === 200)).toBe(true);
    expect(engine.requests).toHaveLength(20);
    expect(await gauge()).toBe('0');
  });

  it('has them answered with 503 once they waited for so long, or above its queue at once', async () => {
    held(1, 2);
    const startedMs = performance.now();
    const answers = await Promise.all(
      [ask(), ask(), ask()].map((one) => one.then(({ status }) => ({ status, ms: performance.now() - startedMs }))),
    );
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    const waits = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
    expect(waits[0]).toBeLessThan(waits[1] ?? 0);
    expect(waits[1]).toBeGreaterThan(990);
  });

  it('has one whose client leaves leave the queue, and its place is free', async () => {
    held(10, 1);
    const leave = new AbortController();
    const first = ask({ signal: leave.signal });
    await until(() => ledger.wakes.length === 1);
    leave.abort();
    await expect(first).rejects.toThrow();
    await untilHeld('0');
    const second = ask();
    await untilHeld('1');
    ledger.put({ ...activeOn('m', engine.port), hold: { maxWaitSeconds: 10, maxQueue: 1 } });
    expect((await second).status).toBe(200);
    expect(engine.requests).toHaveLength(1);
  });

  it('has them told at once when no wait can help, or the model is gone', async () => {
    held(10, 10);
    const first = ask();
    await until(() => ledger.wakes.length === 1);
    ledger.put(routeOf('m', { serving: 'FailedForGood', hold: { maxWaitSeconds: 10, maxQueue: 10 } }));
    expect(await first).toMatchObject({ status: 503, error: { code: 'failed' } });
    held(10, 10);
    const second = ask();
    await untilHeld('1');
    ledger.remove('m');
    expect(await second).toMatchObject({ status: 404, error: { code: 'model_not_found' } });
  });
});
