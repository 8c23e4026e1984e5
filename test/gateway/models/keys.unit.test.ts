import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { GatewayKey } from '../../../src/store/model-store.js';
import {
  activeOn,
  answerJson,
  hello,
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

beforeEach(async () => {
  ledger = new SimulatedLedger();
  engine = await startEngine(answerJson);
  ledger.put(activeOn('chat', engine.port));
  ledger.put({ ...activeOn('theirs', engine.port), project: 'default/other', projects: ['default/other'] });
  models = await startModels(ledger);
});
afterEach(async () => {
  await models.close();
  await engine.close();
});

const PATHS = [
  { path: '/v1/models', method: 'GET' },
  { path: '/v1/models/chat', method: 'GET' },
  { path: '/v1/chat/completions', method: 'POST' },
  { path: '/v1/completions', method: 'POST' },
  { path: '/v1/embeddings', method: 'POST' },
] as const;

describe.each(PATHS)('$method $path', ({ path, method }) => {
  const call = (key: string, model = 'chat') => {
    const at = path.replace('chat', path === '/v1/models/chat' ? model : 'chat');
    return models.ask(key, method === 'GET' ? undefined : hello(model), { path: at });
  };

  it.each(['', 'wrong', 'berth_unknown', 'berthnode_x'])('with the key %j: 401 as OpenAI’s error', async (key) => {
    const answer = await call(key);
    expect(answer).toMatchObject({ status: 401, error: { code: 'invalid_api_key', type: 'authentication_error' } });
    expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    expect(engine.requests).toHaveLength(0);
  });

  it('with a key of scope models: served; of scope read: listed, and 403 in the same form to ask', async () => {
    expect((await call(ledger.addKey({ scope: 'models' }))).status).toBe(200);
    const answer = await call(ledger.addKey({ scope: 'read' }));
    if (method === 'GET') expect(answer.status).toBe(200);
    else expect(answer).toMatchObject({ status: 403, error: { code: 'key_scope', type: 'permission_error' } });
    expect(engine.requests).toHaveLength(method === 'GET' ? 0 : 1);
  });

  it('with a key of the project: served', async () => {
    expect((await call(ledger.addKey())).status).toBe(200);
  });

  it('for a model of a project that is not the key’s, or that its list does not name: as one that does not exist', async () => {
    const limits = { models: ['theirs'], requestsPerMinute: null, tokensPerMinute: null };
    const [own, listed] = [ledger.addKey(), ledger.addKey({ limits })];
    if (path === '/v1/models') {
      expect((await call(own)).text).not.toContain('theirs');
      expect((await call(listed)).text).toContain('"data":[]');
      return;
    }
    const [none, hidden, unlisted] = [await call(own, 'none'), await call(own, 'theirs'), await call(listed, 'chat')];
    for (const answer of [none, hidden, unlisted])
      expect(answer).toMatchObject({ status: 404, error: { code: 'model_not_found', param: 'model' } });
    expect(hidden.error.message.replace('theirs', 'none')).toBe(none.error.message);
    expect((await call(ledger.addKey({ isOperator: true, projects: [] }), 'theirs')).status).toBe(200);
  });
});

describe('a key', () => {
  it('is read once for many requests, and refused from the moment that its revocation is told', async () => {
    const key = ledger.addKey();
    for (let count = 0; count < 5; count += 1) expect((await models.ask(key, hello('chat'))).status).toBe(200);
    expect(ledger.lookups).toBe(1);
    ledger.changeKey(key, null);
    expect((await models.ask(key, hello('chat'))).status).toBe(401);
  });

  it('of nobody costs one look-up, however often it comes', async () => {
    await Promise.all(Array.from({ length: 10 }, () => models.ask('berth_nobody', hello('chat'))));
    expect(ledger.lookups).toBe(1);
  });

  it('that is known is served while the database is away or mute, a new one is told to come again', async () => {
    const key = ledger.addKey();
    await models.ask(key, hello('chat'));
    ledger.isAway = true;
    ledger.reconnected(); // all is to be read anew, and cannot be
    expect((await models.ask(key, hello('chat'))).status).toBe(200);
    const unknown = await models.ask(ledger.addKey(), hello('chat'));
    expect(unknown).toMatchObject({ status: 503, error: { code: 'unavailable' } });
    expect(unknown.headers.get('retry-after')).toBe('5');
    ledger.isMute = true;
    expect((await models.ask(ledger.addKey(), hello('chat'))).status).toBe(503);
    Object.assign(ledger, { isAway: false, isMute: false });
  });
});

describe('rates', () => {
  const limited = (more: Partial<GatewayKey['limits']>): string =>
    ledger.addKey({ limits: { models: null, requestsPerMinute: null, tokensPerMinute: null, ...more } });

  it('of requests: 429 with Retry-After, and what is left in headers', async () => {
    const key = limited({ requestsPerMinute: 2 });
    const first = await models.ask(key, hello('chat'));
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('2');
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    expect(first.headers.get('x-ratelimit-reset-requests')).toBe('30s');
    await models.ask(key, hello('chat'));
    const third = await models.ask(key, hello('chat'));
    expect(third).toMatchObject({ status: 429, error: { code: 'rate_limited', type: 'rate_limit_error' } });
    expect(third.headers.get('retry-after')).toBe('30');
    expect(third.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(engine.requests).toHaveLength(2);
  });

  it('of tokens: an answer may overdraw them, and the next waits until they are back', async () => {
    const key = limited({ tokensPerMinute: 10 });
    expect((await models.ask(key, hello('chat'))).status).toBe(200);
    await until(() => models.lines.length === 1);
    const second = await models.ask(key, hello('chat'));
    expect(second).toMatchObject({ status: 429, error: { code: 'rate_limited' } });
    expect(second.error.message).toContain('tokens');
    expect(Number(second.headers.get('retry-after'))).toBe(6);
  });

  it('are not used up by answers that no engine gave', async () => {
    const key = limited({ requestsPerMinute: 1 });
    await models.ask(key, hello('none'));
    await models.ask(key, 'no json');
    expect((await models.ask(key, hello('chat'))).status).toBe(200);
  });

  it('are shared among processes, and keep what was used when other figures are told', async () => {
    const two = await startModels(ledger, { workers: 2 });
    const key = limited({ requestsPerMinute: 4 });
    for (let count = 0; count < 2; count += 1) expect((await two.ask(key, hello('chat'))).status).toBe(200);
    expect((await two.ask(key, hello('chat'))).status).toBe(429);
    ledger.changeKey(key, { ...last(), limits: { models: ['chat'], requestsPerMinute: 4, tokensPerMinute: null } });
    expect((await two.ask(key, hello('chat'))).status).toBe(429);
    await two.close();
  });

  const last = (): GatewayKey => [...ledger.keys.values()].at(-1) as GatewayKey;
});
