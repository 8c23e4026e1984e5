import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ServedVllm, serveVllm, TINY_MODEL } from '../../infra/vllm/serve.mjs';
import { activeOn, SimulatedLedger, startModels, type TestModels, until } from '../gateway/models/support.js';
import { formOf, recorded, recordedNames, sampleNames, streamForm } from '../models/recorded.js';

let served: ServedVllm;
let models: TestModels;
let key: string;
const ledger = new SimulatedLedger();

beforeAll(async () => {
  served = await serveVllm();
  const route = activeOn(TINY_MODEL, served.port);
  ledger.put({ ...route, targets: route.targets.map((one) => ({ ...one, sealedApiKey: Buffer.from(served.apiKey) })) });
  key = ledger.addKey();
  models = await startModels(ledger, { usageEveryMs: 50 });
}, 1_200_000);
afterAll(async () => {
  await models.close();
  await served.stop();
});

const client = () => new OpenAI({ apiKey: key, baseURL: `${models.url}/v1`, maxRetries: 0 });
const hello = { model: TINY_MODEL, messages: [{ role: 'user' as const, content: 'hello' }], max_tokens: 5 };
const promptTokens = () => [...ledger.usage.values()].reduce((sum, row) => sum + row.promptTokens, 0);

it('an OpenAI client chats with the real vLLM through the gateway, whole and streamed, and the tokens are recorded', async () => {
  const whole = await client().chat.completions.create(hello);
  expect(whole.usage?.completion_tokens).toBe(5);
  const stream = await client().chat.completions.create({ ...hello, stream: true });
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('length');
  await until(() => promptTokens() === 2 * (whole.usage?.prompt_tokens ?? 0));
  expect([...ledger.usage.values()]).toMatchObject([{ requests: 2, completionTokens: 10, failed: 0 }]);
});

it('a client that leaves a stream ends its request in the real vLLM', async () => {
  const stream = await client().completions.create({
    model: TINY_MODEL,
    prompt: 'hello',
    max_tokens: 250,
    stream: true,
  });
  for await (const _ of stream) break;
  const running = async () =>
    /num_requests_running\{.*\} (\S+)/.exec(await (await fetch(`${served.url}/metrics`)).text())?.[1];
  for (let tries = 0; tries < 50 && (await running()) !== '0.0'; tries++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await running()).toBe('0.0');
});

const isRepeatable = (name: string): boolean =>
  !/^embeddings|embedder|slept-on|after-wake|busy|asleep|key|metrics/.test(name);
it.each(recordedNames.filter(isRepeatable))('%s is answered as it was recorded', async (name) => {
  const { request, response } = recorded(name);
  const body = typeof request.body === 'string' ? request.body : JSON.stringify(request.body);
  const headers = { authorization: `Bearer ${served.apiKey}`, 'content-type': 'application/json' };
  const now = await fetch(served.url + request.path, { method: request.method, headers, ...(body ? { body } : {}) });
  const text = await now.text();
  const form = (told: string) =>
    told === '' ? '' : told.startsWith('data:') ? streamForm(told) : formOf(JSON.parse(told));
  expect([now.status, form(text)]).toEqual([response.status, form(response.text)]);
});

it('its metrics have the names that were recorded', async () => {
  const text = await (await fetch(`${served.url}/metrics`)).text();
  const names = sampleNames(text);
  expect([...sampleNames(recorded('metrics-idle').response.text)].filter((name) => !names.has(name))).toEqual([]);
});
