import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ServedVllm, serveVllm, TINY_MODEL } from '../../infra/vllm/serve.mjs';
import { createEngineClient, type EngineClient } from '../../src/engines/engine-client.js';
import { vllm as adapter } from '../../src/engines/vllm.js';

const apiKey = 'key-of-an-instance';
let served: ServedVllm;
let client: EngineClient;

/** The adapter's own command, but for what a CPU does not have (sleep mode) and the port, which other programs may hold. */
function launch(modelPath: string, port: number) {
  const parallel = { tensor: 1, pipeline: 1 };
  const rest = { args: ['--max-num-seqs', '2', '--shutdown-timeout', '20'], environment: {}, segment: 'kv-test' };
  const { command, environment } = adapter.process({ modelName: TINY_MODEL, modelPath, apiKey, parallel, ...rest });
  const args = command.slice(1).filter((arg) => arg !== '--enable-sleep-mode');
  return { args: args.with(args.indexOf('--port') + 1, String(port)), environment };
}

beforeAll(async () => {
  served = await serveVllm({ launch });
  client = createEngineClient({ adapter, host: '127.0.0.1', port: served.port, apiKey });
}, 1_200_000);
afterAll(() => served.stop());

const complete = (tokens: number): Promise<{ finish: string; tokens: number }> =>
  fetch(`${served.url}/v1/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: TINY_MODEL, prompt: 'hello', max_tokens: tokens, ignore_eos: true }),
  }).then(async (response) => {
    const { choices, usage } = (await response.json()) as {
      choices: [{ finish_reason: string }];
      usage: { completion_tokens: number };
    };
    return { finish: choices[0].finish_reason, tokens: usage.completion_tokens };
  });

async function untilRunning(count: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if ((await client.load())?.running === count) return;
    await sleep(50);
  }
  throw new Error(`never ${count} running`);
}

const soon = () => AbortSignal.timeout(60_000);

it('it is healthy, serves its model by name, and tells its load; with another key it does not serve', async () => {
  expect(await client.isHealthy()).toBe(true);
  expect([await client.serves(TINY_MODEL), await client.serves('another')]).toEqual([true, false]);
  expect(await client.load()).toEqual({ running: 0, waiting: 0, completed: 0 });
  const stranger = createEngineClient({ adapter, host: '127.0.0.1', port: served.port, apiKey: 'another' });
  expect(await stranger.serves(TINY_MODEL)).toBe(false);
});

it('running, waiting and completed follow the requests', async () => {
  const asked = [complete(200), complete(200), complete(200)];
  await untilRunning(2);
  expect(await client.load()).toMatchObject({ running: 2, waiting: 1 });
  await Promise.all(asked);
  await untilRunning(0);
  expect(await client.load()).toEqual({ running: 0, waiting: 0, completed: 3 });
});

it('it sleeps after what is in flight, and says so; asleep it stays healthy; twice is as once; it wakes', async () => {
  const asked = complete(200);
  await untilRunning(1);
  await client.sleep(soon());
  expect(await asked).toEqual({ finish: 'length', tokens: 200 });
  expect(await client.isSleeping()).toBe(true);
  await client.sleep(soon());
  expect([await client.isHealthy(), (await client.load())?.running]).toEqual([true, 0]);
  await client.wake(soon());
  await client.wake(soon());
  expect(await client.isSleeping()).toBe(false);
  expect((await complete(3)).finish).toBe('length');
});

it('a request to a sleeper is answered after the wake, and is not counted as waiting', async () => {
  await client.sleep(soon());
  const asked = complete(3);
  await sleep(500);
  expect(await client.load()).toMatchObject({ running: 0, waiting: 0 });
  await client.wake(soon());
  expect((await asked).finish).toBe('length');
});

it('SIGTERM with a shutdown timeout lets what is in flight end, and exits with 0', async () => {
  const asked = complete(200);
  await untilRunning(1);
  const code = await served.stop(60);
  expect(await asked).toEqual({ finish: 'length', tokens: 200 });
  expect(code).toBe(0);
  expect(await client.isHealthy()).toBe(false);
});
