import { once } from 'node:events';
import { request } from 'node:http';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  activeOn,
  answerJson,
  answerStream,
  chunk,
  type EngineAnswer,
  hello,
  type SimulatedEngine,
  SimulatedLedger,
  startEngine,
  startModels,
  type TestModels,
  until,
  usageChunk,
} from './support.js';

let ledger: SimulatedLedger;
let models: TestModels;
let key: string;
const engines: SimulatedEngine[] = [];

beforeEach(async () => {
  ledger = new SimulatedLedger();
  key = ledger.addKey();
  models = await startModels(ledger, { usageEveryMs: 20 });
});
afterEach(async () => {
  await models.close();
  for (const engine of engines.splice(0)) await engine.close();
});

async function serve(answer: EngineAnswer): Promise<SimulatedEngine> {
  const engine = await startEngine(answer);
  engines.push(engine);
  ledger.put(activeOn('chat', engine.port));
  await new Promise((resolve) => setTimeout(resolve, 5));
  return engine;
}
const streamed = (more: object = {}) => hello('chat', { stream: true, ...more });
const line = () => until(() => models.lines.length > 0).then(() => models.lines[0]);

describe('a stream', () => {
  it('comes as the engine sent it; its usage is counted, and shown to who asked for it alone', async () => {
    const engine = await serve(answerStream(['a', 'b', 'c']));
    const plain = await models.ask(key, streamed());
    expect(plain.headers.get('content-type')).toBe('text/event-stream');
    expect(plain.text).toBe(`${chunk('a')}${chunk('b')}${chunk('c')}data: [DONE]\n\n`);
    expect(JSON.parse(engine.requests[0]?.body ?? '')).toMatchObject({ stream_options: { include_usage: true } });
    expect(await line()).toMatchObject({ promptTokens: 7, completionTokens: 3 });
    const asked = await models.ask(key, streamed({ stream_options: { include_usage: true } }));
    expect(asked.text).toContain(usageChunk);
    const other = await models.ask(key, streamed({ stream_options: { continuous_usage_stats: false } }));
    expect(other.text).not.toContain('"usage"');
    expect(JSON.parse(engine.requests[2]?.body ?? '')).toMatchObject({
      stream_options: { continuous_usage_stats: false, include_usage: true },
    });
  });

  it('whose events come in any pieces keeps them whole, with either kind of line end', async () => {
    const text = `${chunk('ä', { usage: null })}${chunk('b')}${usageChunk}data: [DONE]\n\n`.replaceAll(
      '\n\n',
      '\r\n\r\n',
    );
    await serve(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += 7) {
        response.write(bytes.subarray(at, at + 7));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    const answer = await models.ask(key, streamed());
    expect(answer.text).toBe(text.replace(usageChunk.replace('\n\n', '\r\n\r\n'), ''));
    expect(await line()).toMatchObject({ promptTokens: 7, completionTokens: 3 });
  });

  it('sends its head before its first event', async () => {
    await serve((response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders());
    const leave = new AbortController();
    const answer = await fetch(`${models.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(streamed()),
      headers: { authorization: `Bearer ${key}` },
      signal: leave.signal,
    });
    expect(answer.status).toBe(200);
    leave.abort();
  });

  it('whose client leaves is cancelled at the engine, and what came through is counted', async () => {
    const engine = await serve(answerStream(Array.from({ length: 10_000 }, () => 'x')));
    const client = new OpenAI({ apiKey: key, baseURL: `${models.url}/v1`, maxRetries: 0 });
    const stream = await client.chat.completions.create({ model: 'chat', messages: [], stream: true });
    let seen = 0;
    for await (const _part of stream) if ((seen += 1) === 5) break;
    await until(() => engine.cut === 1, 1_000);
    expect(await line()).toMatchObject({ status: 499 });
    expect(Number(models.lines[0]?.['completionTokens'])).toBeGreaterThanOrEqual(5);
    await until(() => ledger.usage.size > 0);
    expect([...ledger.usage.values()][0]).toMatchObject({ requests: 1, failed: 0, promptTokens: 0 });
  });

  it('whose engine dies in the middle of an event ends with an error event of its own', async () => {
    await serve((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`${chunk('a')}data: {"half`);
      setTimeout(() => response.destroy(), 20);
    });
    const { text, headers } = await models.ask(key, streamed());
    const events = text.split('\n\n');
    expect(events).toHaveLength(3);
    expect(`${events[0]}\n\n`).toBe(chunk('a'));
    expect(JSON.parse(events[1]?.slice('data: '.length) ?? '')).toMatchObject({
      error: { code: 'upstream_failed', type: 'server_error', requestId: headers.get('x-request-id') },
    });
    await until(() => ledger.usage.size > 0);
    expect([...ledger.usage.values()][0]).toMatchObject({ requests: 1, failed: 1, completionTokens: 1 });
  });

  it('that broke off throws in the client of OpenAI', async () => {
    await serve((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk('a'));
      setTimeout(() => response.destroy(), 20);
    });
    const client = new OpenAI({ apiKey: key, baseURL: `${models.url}/v1`, maxRetries: 0 });
    const stream = await client.chat.completions.create({ model: 'chat', messages: [], stream: true });
    const read = async () => {
      for await (const _part of stream);
    };
    await expect(read()).rejects.toThrow(/middle of the stream/);
  });

  it('whose client does not read holds the engine back, and memory with it', async () => {
    let written = 0;
    const big = chunk('x'.repeat(16_000));
    const engine = await serve(async (response) => {
      const closed = once(response, 'close');
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let count = 0; count < 4_000 && !response.destroyed; count += 1) {
        written += big.length;
        if (!response.write(big)) await Promise.race([once(response, 'drain'), closed]);
      }
      response.end();
    });
    const asked = request(`${models.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    });
    asked.on('response', (answer) => void answer.pause());
    asked.on('error', () => undefined);
    asked.end(JSON.stringify(streamed()));
    await until(() => written > 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const stalled = written;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(written).toBe(stalled);
    expect(stalled).toBeLessThan(32 << 20); // what the kernel's buffers take, of 64 MB
    asked.destroy();
    await until(() => engine.cut === 1);
  });

  it('under way at the end of the gateway ends with an error event', async () => {
    await serve((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk('a'));
    });
    const asked = models.ask(key, streamed());
    await until(() => engines[0]?.requests.length === 1);
    expect(await models.metrics()).toMatch(/berth_model_requests_in_flight\{.*\} 1/);
    const closed = models.gateway.close();
    expect((await asked).text).toMatch(/"code":"upstream_failed"/);
    await closed;
    expect(await models.ask(key, streamed())).toMatchObject({ status: 503, error: { code: 'unavailable' } });
  });
});

describe('an answer that is no stream', () => {
  it.each([
    { title: 'before it says anything', die: (): string => '' },
    { title: 'in the middle', die: (): string => '{"choices":[' },
  ])('of an engine that dies $title: 502 with a body', async ({ die }) => {
    await serve((response) => {
      const text = die();
      if (text !== '')
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 }).write(text);
      setTimeout(() => response.destroy(), 10);
    });
    const answer = await models.ask(key, hello('chat'));
    expect(answer).toMatchObject({ status: 502, error: { code: 'upstream_failed' } });
    expect(answer.headers.get('x-should-retry')).toBe('true');
  });

  it.each([
    { status: 400, body: '{"error":{"message":"too long"}}', told: 400, says: 'too long' },
    { status: 500, body: '', told: 502, says: 'said nothing' },
    { status: 500, body: '{"error":{"message":"boom"}}', told: 500, says: 'boom' },
    { status: 401, body: '{}', told: 502, says: 'refused the gateway' },
  ])('of status $status with the body $body: $told', async ({ status, body, told, says }) => {
    await serve((response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(body));
    const answer = await models.ask(key, hello('chat'));
    expect(answer.status).toBe(told);
    expect(answer.text).toContain(says);
  });

  it('of many megabytes passes, with its length or without, and its tokens are counted', async () => {
    const big = JSON.stringify({ data: 'x'.repeat(3 << 20), usage: { prompt_tokens: 5, total_tokens: 5 } });
    await serve((response) => void response.writeHead(200, { 'content-length': big.length }).end(big));
    expect((await models.ask(key, hello('chat'))).text).toHaveLength(big.length);
    await serve((response) => {
      response.writeHead(200);
      response.write(big);
      response.end();
    });
    expect((await models.ask(key, hello('chat'))).text).toHaveLength(big.length);
    await until(() => models.lines.length === 2);
    for (const one of models.lines) expect(one).toMatchObject({ promptTokens: 5, completionTokens: 0 });
  });

  it('of many megabytes whose engine dies in it is cut, so that nobody takes it for whole', async () => {
    await serve((response) => {
      response.writeHead(200, { 'content-length': 8 << 20 }).write('x'.repeat(2 << 20));
      setTimeout(() => response.destroy(), 30);
    });
    await expect(models.ask(key, hello('chat'))).rejects.toThrow();
    expect(await line()).toMatchObject({ model: 'chat' });
  });

  it('whose client leaves is cancelled at the engine', async () => {
    const engine = await serve(() => undefined);
    const leave = new AbortController();
    const asked = models.ask(key, hello('chat'), { signal: leave.signal });
    await until(() => engine.requests.length === 1);
    leave.abort();
    await expect(asked).rejects.toThrow();
    await until(() => engine.cut === 1, 1_000);
  });

  it('is served again once its engine is back on its port', async () => {
    const first = await serve(answerJson);
    await first.close();
    expect((await models.ask(key, hello('chat'))).status).toBe(503);
    engines.push(await startEngine(answerJson, first.port));
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect((await models.ask(key, hello('chat'))).status).toBe(200);
  });
});
