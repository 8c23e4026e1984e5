import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ModelRoute } from '../../../src/store/model-store.js';
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
  engine = await startEngine(answerJson);
  ledger.put(activeOn('chat', engine.port));
  key = ledger.addKey();
  models = await startModels(ledger, { usageEveryMs: 60_000 });
});
afterEach(async () => {
  await models.close();
  await engine.close();
});

const state = (serving: string, more: Partial<ModelRoute> = {}): void =>
  ledger.put(routeOf('m', { serving, reason: 'why', phaseSinceMs: Date.now(), ...more }));

describe('a model that does not serve is answered at once with its reason:', () => {
  it.each([
    { serving: 'EngineStarting', code: 'model_starting', retryAfter: '10' },
    { serving: 'EngineStarting', code: 'model_starting', retryAfter: '40', more: { startSeconds: 40 } },
    { serving: 'EngineSleeping', code: 'model_asleep', retryAfter: '10', wakes: 1 },
    { serving: 'EngineSleeping', code: 'model_asleep', retryAfter: '4', more: { wakeSeconds: 3.5 }, wakes: 1 },
    {
      serving: 'EngineSleeping',
      code: 'model_asleep',
      retryAfter: '9',
      more: { wakeSeconds: 9, phaseSinceMs: 0 },
      wakes: 1,
    },
    { serving: 'NoRoom', code: 'no_room', retryAfter: '10' },
    { serving: 'EngineFailed', code: 'engine_failed', retryAfter: '10' },
    { serving: 'WaitingForRoom', code: 'waiting_for_room', retryAfter: '20', wakes: 1 },
    { serving: 'MakingRoom', code: 'making_room', retryAfter: '20' },
    { serving: 'Moving', code: 'moving', retryAfter: '30' },
    { serving: 'PoolEmpty', code: 'pool_empty', retryAfter: '30' },
    { serving: 'SomethingNewer', code: 'unavailable', retryAfter: '30' },
  ])(
    '$serving with $more: 503, $code, Retry-After $retryAfter',
    async ({ serving, code, retryAfter, more, wakes = 0 }) => {
      state(serving, more);
      const answer = await models.ask(key, hello('m'));
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe(retryAfter);
      expect(answer.headers.get('x-should-retry')).toBe('true');
      expect(answer.error).toMatchObject({ code, param: 'model', type: 'service_unavailable_error' });
      expect(answer.error.reason).toEqual({ code: serving, message: 'why' });
      expect(answer.error.message).toContain('why');
      await until(() => ledger.wakes.length >= wakes);
      expect(ledger.wakes).toHaveLength(wakes);
    },
  );

  it.each([
    { serving: 'Invalid', code: 'invalid' },
    { serving: 'TooLargeForAnyGpu', code: 'too_large_for_any_gpu' },
    { serving: 'FailedForGood', code: 'failed' },
  ])('$serving: 503 without Retry-After, and no retry helps', async ({ serving, code }) => {
    state(serving);
    const answer = await models.ask(key, hello('m'));
    expect(answer).toMatchObject({ status: 503, error: { code, reason: { code: serving } } });
    expect(answer.headers.get('retry-after')).toBeNull();
    expect(answer.headers.get('x-should-retry')).toBe('false');
  });

  it('on the route by its reason, but by no engine: as one that starts', async () => {
    state('Active');
    expect(await models.ask(key, hello('m'))).toMatchObject({ status: 503, error: { code: 'model_starting' } });
  });
});

describe('what is wrong with a request is told in OpenAI’s words:', () => {
  const chat = (body: unknown, more: RequestInit & { path?: string } = {}) => models.ask(key, body, more);
  it.each([
    { title: 'no such model', ask: () => chat(hello('none')), status: 404, code: 'model_not_found' },
    { title: 'no model named', ask: () => chat({ messages: [] }), status: 400, code: 'missing_model' },
    { title: 'a model that is no string', ask: () => chat({ model: 3 }), status: 400, code: 'missing_model' },
    { title: 'no JSON', ask: () => chat('model=chat'), status: 400, code: 'invalid_json' },
    { title: 'half of it', ask: () => chat('{"model":"chat"'), status: 400, code: 'invalid_json' },
    {
      title: 'no such path',
      ask: () => chat(hello('chat'), { path: '/v1/audio/speech' }),
      status: 404,
      code: 'not_found',
    },
    { title: 'a wrong method', ask: () => chat(undefined), status: 405, code: 'method_not_allowed' },
    {
      title: 'an encoded body',
      ask: () => chat(hello('chat'), { headers: { 'content-encoding': 'gzip' } }),
      ...{ status: 415, code: 'unsupported_encoding' },
    },
    {
      title: 'a model by name that is not there',
      ask: () => chat(undefined, { path: '/v1/models/none' }),
      status: 404,
      code: 'model_not_found',
    },
  ])('$title: $status', async ({ ask, status, code }) => {
    const answer = await ask();
    expect(answer).toMatchObject({ status, error: { code } });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
    expect(engine.requests).toHaveLength(0);
  });

  it('a body above the limit, with its length or without: 413, and the next connection is served', async () => {
    const small = await startModels(ledger, { bodyMaxBytes: 1_000 });
    try {
      const text = JSON.stringify(hello('chat', { long: 'x'.repeat(2_000) }));
      expect(await small.ask(key, text)).toMatchObject({ status: 413, error: { code: 'request_too_large' } });
      const body = new Blob([text]).stream();
      expect(await small.ask(key, text, { body, duplex: 'half' })).toMatchObject({ status: 413 });
      expect(await small.ask(key, hello('chat'))).toMatchObject({ status: 200 });
    } finally {
      await small.close();
    }
  });

  it('a body that does not come: 408', async () => {
    const quick = await startModels(ledger, { bodyMs: 50 });
    try {
      const body = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('{"model"')) });
      expect(await quick.ask(key, '', { body, duplex: 'half' })).toMatchObject({ status: 408 });
    } finally {
      await quick.close();
    }
  });
});

describe('a request that is forwarded', () => {
  it('reaches the engine byte for byte, with its key and nothing of Berth’s or of other hops', async () => {
    const text = ' {"messages":[{"role":"user","content":"{\\"model\\":\\"other\\"}"}],\n"model" : "chat","n":1e0 } ';
    const headers = { cookie: 'berth-session=1', 'x-request-id': 'mine-1', 'berth-on-behalf-of': 'x', 'x-custom': 'y' };
    const answer = await models.ask(key, text, { headers });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    const [got] = engine.requests;
    expect(got).toMatchObject({ body: text, path: '/v1/chat/completions' });
    expect(got?.headers).toMatchObject({ authorization: `Bearer engine-key-${engine.port}`, 'x-request-id': 'mine-1' });
    expect(Object.keys(got?.headers ?? {}).sort()).toEqual([
      'accept',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
      'x-request-id',
    ]);
    expect(JSON.stringify(got)).not.toContain(key);
  });

  it('takes its tokens from the answer, tells metrics, one line of the access log, and the usage at the end', async () => {
    await models.ask(key, hello('chat'));
    await models.ask(key, { model: 'chat', input: 'x' }, { path: '/v1/embeddings' });
    expect(models.lines[0]).toMatchObject({
      ...{
        key: 'key_0',
        model: 'chat',
        path: '/v1/chat/completions',
        status: 200,
        promptTokens: 7,
        completionTokens: 3,
      },
      ...{ ms: expect.any(Number) as number, requestId: expect.stringMatching(/^req_/) as string },
    });
    const metrics = await models.metrics();
    expect(metrics).toMatch(/berth_model_requests_total\{.*model="chat",code="200".*\} 2/);
    expect(metrics).toMatch(/berth_model_tokens_total\{.*kind="prompt".*\} 14/);
    await models.gateway.close();
    expect(ledger.usage.get('key_0 default/team chat')).toEqual({
      requests: 2,
      promptTokens: 14,
      completionTokens: 6,
      failed: 0,
    });
  });

  it('goes to the engine with the least under way, in turns among equals', async () => {
    const other = await startEngine(answerJson);
    ledger.put(activeOn('chat', engine.port, other.port));
    for (let count = 0; count < 10; count += 1) await models.ask(key, hello('chat'));
    expect([engine.requests.length, other.requests.length]).toEqual([5, 5]);
    await other.close();
  });

  it('goes to another engine where one takes no connection, and the first is off the route at once', async () => {
    const gone = await startEngine(answerJson);
    await gone.close();
    ledger.put(activeOn('chat', gone.port, engine.port));
    for (let count = 0; count < 4; count += 1) expect((await models.ask(key, hello('chat'))).status).toBe(200);
    ledger.put(activeOn('chat', gone.port));
    const answer = await models.ask(key, hello('chat'));
    expect(answer).toMatchObject({ status: 503, error: { code: 'engine_failed' } });
    expect(answer.headers.get('retry-after')).toBe('10');
  });

  it('lists models with their state, those asleep too, and names with slashes by their path', async () => {
    ledger.put(routeOf('org/asleep', { wakeSeconds: 3, phaseSinceMs: 5_000 }));
    const list = JSON.parse((await models.ask(key, undefined, { path: '/v1/models' })).text) as { data: object[] };
    expect(list.data).toEqual([
      { id: 'chat', object: 'model', created: 0, owned_by: 'default/team', state: 'active', reason: null },
      expect.objectContaining({ id: 'org/asleep', state: 'model_asleep', retryAfterSeconds: 3 }),
    ]);
    for (const path of ['/v1/models/org/asleep', '/v1/models/org%2Fasleep'])
      expect(JSON.parse((await models.ask(key, undefined, { path })).text)).toMatchObject({ id: 'org/asleep' });
  });
});
