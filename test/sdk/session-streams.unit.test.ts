import { afterEach, describe, expect, test } from 'vitest';
import type { SessionEvent } from '../../src/contract/index.js';
import { Client, WaitTimeoutError } from '../../src/sdk/index.js';
import { json, type Reply, type ScriptedServer, scriptedServer, stream } from './fake-api.js';

let server: ScriptedServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function clientOf(...replies: readonly Reply[]): Promise<{ client: Client; server: ScriptedServer }> {
  server = await scriptedServer(...replies);
  return { client: new Client({ baseUrl: server.url, token: 't', retries: { baseMilliseconds: 2 } }), server };
}

const event = (id: string, to: string) => ({ id, kind: 'state', to }) as SessionEvent;
const sse = (...events: readonly SessionEvent[]) =>
  `retry: 5\n\n${events.map((one) => `id: ${one.id}\nevent: state\ndata: ${JSON.stringify(one)}\n\n`).join('')}`;
const EVENTS = 'text/event-stream';

async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe('events', () => {
  test('go on with Last-Event-ID where the connection broke, each once, until the last', async () => {
    const { client, server } = await clientOf(
      stream(EVENTS, sse(event('1', 'PENDING'), event('2', 'SCHEDULED')), 'breaks'),
      json(503, { code: 'unavailable', detail: '' }),
      stream(EVENTS, sse(event('3', 'RUNNING'))),
      stream(EVENTS, sse(event('4', 'TERMINATING'), event('5', 'TERMINATED'))),
    );
    const events = await collect(client.sessions.events('s'));
    expect(events.map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5']);
    expect(server.seen.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '2', '2', '3']);
  });

  test('end when a resumed session has nothing more to tell', async () => {
    const { client, server } = await clientOf(
      stream(EVENTS, ': alive\n\n'),
      stream(EVENTS, ': alive\n\n'),
      json(200, { state: 'CANCELLED' }),
    );
    expect(await collect(client.sessions.events('s', { after: '9' }))).toEqual([]);
    expect(server.seen.at(-1)?.url).toBe('/v1/sessions/s');
  });

  test('stop with the reason of the abort', async () => {
    const { client } = await clientOf((response) => {
      response.writeHead(200, { 'content-type': EVENTS });
      response.write(sse(event('1', 'PENDING')));
    });
    const controller = new AbortController();
    const reason = new Error('enough');
    const events = client.sessions.events('s', { signal: controller.signal });
    expect((await events.next()).value).toMatchObject({ id: '1' });
    setTimeout(() => controller.abort(reason), 10);
    await expect(events.next()).rejects.toBe(reason);
  });
});

describe('frames', () => {
  const lines = (...frames: readonly unknown[]) => frames.map((frame) => `${JSON.stringify(frame)}\n`).join('\n');
  test('of exec are bytes, then the exit code; signs of life and unknown frames are passed over', async () => {
    const data = Buffer.from([0, 255, 10]).toString('base64');
    const { client, server } = await clientOf(
      stream('application/x-ndjson', lines({ stream: 'stdout', data }, { novelty: 1 }, { exitCode: 7 })),
    );
    expect(await collect(client.sessions.exec('s', { command: ['x'] }))).toEqual([
      { kind: 'output', stream: 'stdout', data: Buffer.from([0, 255, 10]) },
      { kind: 'exit', exitCode: 7 },
    ]);
    expect(server.seen[0]?.body).toBe('{"command":["x"]}');
  });

  test('of logs are asked for with follow, tail and kernel', async () => {
    const { client, server } = await clientOf(stream('application/x-ndjson', ''));
    await collect(client.sessions.logs('s', { follow: true, tail: 5, kernel: 'worker1' }));
    expect(server.seen[0]?.url).toBe('/v1/sessions/s/logs?follow=true&tail=5&kernel=worker1');
  });
});

describe('wait', () => {
  test('asks again until the moment has come', async () => {
    const { client, server } = await clientOf(
      json(200, { state: 'PENDING' }),
      json(200, { state: 'CREATING' }),
      json(200, { state: 'RUNNING' }),
    );
    expect(await client.sessions.wait('s', { for: 'running' })).toMatchObject({ state: 'RUNNING' });
    expect(server.seen.map(({ url }) => url)).toEqual(
      Array(3).fill('/v1/sessions/s?waitFor=running&timeoutSeconds=30'),
    );
  });

  test('for running ends when the session has ended', async () => {
    const { client } = await clientOf(json(200, { state: 'ERROR' }));
    expect(await client.sessions.wait('s', { for: 'running' })).toMatchObject({ state: 'ERROR' });
  });

  test('gives up after its time', async () => {
    const { client } = await clientOf(json(200, { state: 'PENDING' }));
    await expect(client.sessions.wait('s', { timeoutSeconds: 0.05 })).rejects.toBeInstanceOf(WaitTimeoutError);
  });
});
