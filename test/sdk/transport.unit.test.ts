import { afterEach, describe, expect, test } from 'vitest';
import {
  Client,
  ConnectionError,
  NeverFitsError,
  NotFoundError,
  ProblemError,
  UnavailableError,
} from '../../src/sdk/index.js';
import { hangUp, json, problem, type Reply, type ScriptedServer, scriptedServer } from './fake-api.js';

let server: ScriptedServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function clientOf(...replies: readonly Reply[]): Promise<{ client: Client; server: ScriptedServer }> {
  server = await scriptedServer(...replies);
  const client = new Client({
    baseUrl: `${server.url}/`,
    token: 'brt_secret',
    onBehalfOf: 'alice',
    retries: { baseMilliseconds: 2 },
  });
  return { client, server };
}

const spec = { image: 'a', kernels: [{ slots: { cpuMilli: 1, memoryBytes: 4_194_304 } }] };
const session = json(201, { id: 'ses_1', state: 'PENDING', futureField: { kept: true } });
const session200 = json(200, { id: 'ses_1', state: 'PENDING' });

describe('tries again', () => {
  const retried: readonly (readonly [string, Reply])[] = [
    ['408', problem(408, 'internal')],
    ['429', problem(429, 'rate_limited')],
    ['502', problem(502, 'upstream_failed')],
    ['503', problem(503, 'unavailable')],
    ['504', json(504, {})],
    ['a connection that breaks off', hangUp],
  ];
  for (const [title, reply] of retried) {
    test(`a POST after ${title}, with the same Idempotency-Key and body`, async () => {
      const { client, server } = await clientOf(reply, reply, session);
      expect((await client.sessions.create(spec)).id).toBe('ses_1');
      expect(server.seen).toHaveLength(3);
      expect(new Set(server.seen.map((seen) => seen.headers['idempotency-key'])).size).toBe(1);
      expect(new Set(server.seen.map((seen) => seen.body)).size).toBe(1);
    });
  }

  test('after a 409 with Retry-After that answers a try whose answer was lost', async () => {
    const { client, server } = await clientOf(hangUp, problemAfter(409, 'conflict', '0'), session);
    await client.sessions.create(spec);
    expect(server.seen).toHaveLength(3);
  });

  test('no sooner than Retry-After says', async () => {
    const { client } = await clientOf(problemAfter(503, 'unavailable', '0.3'), session200);
    const started = performance.now();
    await client.sessions.get('a');
    expect(performance.now() - started).toBeGreaterThanOrEqual(295);
  });
});

const problemAfter = (status: number, code: string, seconds: string): Reply =>
  json(status, { code, detail: '' }, { 'retry-after': seconds });

describe('does not try again', () => {
  const final: readonly (readonly [number, string])[] = [
    [400, 'invalid_request'],
    [401, 'unauthenticated'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [409, 'conflict'],
    [412, 'stale'],
    [422, 'never_fits'],
    [500, 'internal'],
  ];
  for (const [status, code] of final) {
    test(`after ${status}`, async () => {
      const { client, server } = await clientOf(problem(status, code));
      await expect(client.sessions.create(spec)).rejects.toMatchObject({ code, status });
      expect(server.seen).toHaveLength(1);
    });
  }

  test('when the server says x-should-retry: false', async () => {
    const { client, server } = await clientOf(json(503, { code: 'unavailable' }, { 'x-should-retry': 'false' }));
    await expect(client.sessions.get('a')).rejects.toBeInstanceOf(UnavailableError);
    expect(server.seen).toHaveLength(1);
  });

  test('a command in a container whose answer was lost', async () => {
    const { client, server } = await clientOf(hangUp);
    await expect(client.sessions.exec('a', { command: ['rm'] }).next()).rejects.toBeInstanceOf(ConnectionError);
    expect(server.seen).toHaveLength(1);
  });

  test('after an abort, whose reason it throws', async () => {
    const { client } = await clientOf(problemAfter(503, 'unavailable', '60'));
    const reason = new Error('enough');
    await expect(client.sessions.get('a', { signal: abortIn(50, reason) })).rejects.toBe(reason);
  });
});

function abortIn(milliseconds: number, reason: Error): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), milliseconds);
  return controller.signal;
}

describe('a call', () => {
  test('carries the key, who it acts for, and each parameter as one path element', async () => {
    const { client, server } = await clientOf(session200);
    await client.sessions.get('a/../b?c');
    expect(server.seen[0]).toMatchObject({
      method: 'GET',
      url: '/v1/sessions/a%2F..%2Fb%3Fc',
      headers: { authorization: 'Bearer brt_secret', 'berth-on-behalf-of': 'alice' },
    });
    expect(server.seen[0]?.headers['idempotency-key']).toBeUndefined();
  });

  test('writes a project of a quota with ~, and sends If-Match', async () => {
    const { client, server } = await clientOf(json(200, {}));
    await client.quotas.put({ scope: 'project', name: 'main/vision' }, { gpuCount: 2 }, { ifMatch: '"3"' });
    expect(server.seen[0]).toMatchObject({
      method: 'PUT',
      url: '/v1/quotas/project/main~vision',
      body: '{"gpuCount":2}',
      headers: { 'if-match': '"3"' },
    });
  });

  test('keeps fields that this version does not know', async () => {
    const { client } = await clientOf(session);
    expect(await client.sessions.create(spec)).toHaveProperty('futureField.kept', true);
  });

  test('of a list goes on through the pages, with its filters', async () => {
    const { client, server } = await clientOf(
      json(200, { items: [{ id: 1 }, { id: 2 }], nextCursor: 'c2' }),
      json(200, { items: [{ id: 3 }], nextCursor: null }),
    );
    const items = await client.sessions.list({ state: ['PENDING', 'RUNNING'], open: true }).toArray();
    expect(items.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(server.seen.map(({ url }) => url)).toEqual([
      '/v1/sessions?state=PENDING&state=RUNNING&open=true',
      '/v1/sessions?state=PENDING&state=RUNNING&open=true&cursor=c2',
    ]);
  });

  test('without anybody there throws ConnectionError with the reason', async () => {
    const gone = await scriptedServer(session);
    await gone.close();
    const client = new Client({ baseUrl: gone.url, token: 't', retries: { triesMax: 2, baseMilliseconds: 1 } });
    await expect(client.me()).rejects.toThrow(/no answer from http:\/\/127.0.0.1:\d+: connect ECONNREFUSED/);
  });
});

describe('an error', () => {
  test('has a class by its code, and the problem unchanged', async () => {
    const errors = [{ pointer: '/kernels/0', message: 'too large' }];
    const { client } = await clientOf(problem(422, 'never_fits', { errors, hint: 'berth node ls', extra: 1 }));
    const error = await client.sessions.create(spec).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(NeverFitsError);
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({
      name: 'NeverFitsError',
      errors,
      hint: 'berth node ls',
      requestId: 'req_1',
      problem: { extra: 1 },
    });
  });

  test('of a code that this version does not know is a ProblemError', async () => {
    const { client } = await clientOf(problem(418, 'teapot'));
    await expect(client.me()).rejects.toMatchObject({ name: 'ProblemError', code: 'teapot' });
  });

  test('that is no problem object gets a code by its status', async () => {
    const { client } = await clientOf((response) => response.writeHead(404, { 'x-request-id': 'r9' }).end('<html>'));
    const error = await client.me().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ requestId: 'r9', detail: 'answer 404: <html>' });
  });
});
