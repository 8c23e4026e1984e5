import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MODEL_GATEWAY_DEFAULTS } from '../../../src/gateway/models/create-model-gateway.js';
import { createRegistry } from '../../../src/platform/metrics.js';
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

const start = async (everyMs: number): Promise<void> => {
  models = await startModels(ledger, { tableEveryMs: everyMs, usageEveryMs: 20 });
};
beforeEach(async () => {
  ledger = new SimulatedLedger();
  key = ledger.addKey();
  engine = await startEngine(answerJson);
  ledger.put(routeOf('m'));
});
afterEach(async () => {
  Object.assign(ledger, { isAway: false, isMute: false });
  await models.close();
  await engine.close();
});
const status = async (): Promise<number> => (await models.ask(key, hello('m'))).status;
const statusAfter = async (milliseconds: number): Promise<number> => {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  return status();
};

describe('the table', () => {
  it('is right within 100 ms of a notification: a route, its end, its return', async () => {
    await start(60_000);
    expect(await status()).toBe(503);
    ledger.put(activeOn('m', engine.port));
    expect(await statusAfter(100)).toBe(200);
    ledger.put(routeOf('m', { serving: 'EngineSleeping' }));
    expect(await statusAfter(100)).toBe(503);
    ledger.remove('m');
    expect(await statusAfter(100)).toBe(404);
  });

  it('is right within 2 s where the notification is lost, and at once when the connection is back', async () => {
    await start(MODEL_GATEWAY_DEFAULTS.tableEveryMs);
    ledger.put(activeOn('m', engine.port), false);
    expect(await statusAfter(2_000)).toBe(200);
    ledger.put(routeOf('m'), false);
    ledger.reconnected();
    expect(await statusAfter(100)).toBe(503);
  });

  it('is opened in a later try of the same process where the database was away at its start, before or after the first read', async () => {
    const registry = createRegistry('test');
    const again = () => startModels(ledger, { tableEveryMs: 50 }, registry);
    ledger.isAway = true;
    await expect(again()).rejects.toThrow('away');
    ledger.isAway = false;
    const listen = vi.spyOn(ledger.events, 'listen').mockRejectedValueOnce(new Error('cut'));
    await expect(again()).rejects.toThrow('cut');
    listen.mockRestore();
    const { reads } = ledger;
    expect(await new Promise((resolve) => setTimeout(() => resolve(ledger.reads), 150))).toBe(reads);
    ledger.put(activeOn('m', engine.port));
    models = await again();
    expect(await status()).toBe(200);
  });

  it('stands while the database is away, and catches up after', async () => {
    ledger.put(activeOn('m', engine.port));
    await start(50);
    expect(await status()).toBe(200);
    ledger.isAway = true;
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(await status()).toBe(200);
    ledger.remove('m');
    ledger.isAway = false;
    expect(await statusAfter(500)).toBe(404);
    await until(() => [...ledger.usage.values()].some(({ requests }) => requests === 2));
  });

  it('never goes back to what an older read says', async () => {
    await start(60_000);
    const { routes } = ledger.models;
    const old = await routes();
    let answerOld = (): void => undefined;
    const late = new Promise<void>((resolve) => (answerOld = resolve));
    Object.assign(ledger.models, { routes: () => late.then(() => old) });
    ledger.reconnected();
    ledger.put(activeOn('m', engine.port));
    expect(await statusAfter(100)).toBe(200);
    answerOld();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await status()).toBe(200);
  });

  it('takes many changes at once as one read', async () => {
    await start(60_000);
    for (let count = 0; count < 200; count += 1) ledger.put(activeOn(`m${count}`, engine.port));
    await until(() => ledger.reads > 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(ledger.reads).toBeLessThan(10);
    expect((await models.ask(key, hello('m199'))).status).toBe(200);
  });
});

describe('usage', () => {
  it('is told again under its id where the answer alone was lost, and counts once', async () => {
    ledger.put(activeOn('m', engine.port));
    await start(60_000);
    const { recordUsage } = ledger.models;
    let lost = 0;
    Object.assign(ledger.models, {
      recordUsage: async (...batch: Parameters<typeof recordUsage>) => {
        await recordUsage(...batch);
        if ((lost += 1) === 1) throw new Error('the connection was lost');
      },
    });
    await status();
    await until(() => lost === 2);
    expect([...ledger.usage.values()]).toEqual([{ requests: 1, failed: 0, promptTokens: 7, completionTokens: 3 }]);
  });
});
