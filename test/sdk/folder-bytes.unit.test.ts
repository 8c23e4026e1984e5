import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { Client, TransferError } from '../../src/sdk/index.js';
import { hangUp, json, problem, type Reply, type ScriptedServer, scriptedServer } from './fake-api.js';

let server: ScriptedServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const file = { folder: 'data', path: 'a/b.txt' };

/** API and storage proxy are one server here: the transfer's URL names it. */
async function clientOf(...replies: readonly Reply[]): Promise<{ client: Client; server: ScriptedServer }> {
  const started = await scriptedServer(...replies.map((reply) => (reply === transfer ? transferOf() : reply)));
  server = started;
  return {
    client: new Client({ baseUrl: started.url, token: 'api', retries: { baseMilliseconds: 2 } }),
    server: started,
  };
}
const transfer: Reply = () => undefined;
const transferOf = (): Reply => (response, seen) =>
  json(201, { url: `http://${seen.headers.host}/bytes`, token: 'store', expiresAt: '' })(response, seen);
const kept: Reply = (response, seen) =>
  json(201, { path: 'a/b.txt', bytes: seen.body.length, sha256: sha256(seen.body) })(response, seen);

describe('putFile', () => {
  test('streams to the proxy with the token of the transfer', async () => {
    const { client, server } = await clientOf(transfer, kept);
    const done: number[] = [];
    async function* source() {
      yield Buffer.from('hello ');
      yield Buffer.from('');
      yield Buffer.from('world');
    }
    const uploaded = await client.folders.putFile(file, source, { onProgress: (bytes) => done.push(bytes) });
    expect(uploaded).toEqual({ path: 'a/b.txt', bytes: 11, sha256: sha256('hello world') });
    expect(done).toEqual([6, 6, 11]);
    expect(server.seen[0]).toMatchObject({
      url: '/v1/folders/data/transfers',
      body: '{"operation":"write","path":"a/b.txt"}',
    });
    expect(server.seen[1]).toMatchObject({
      method: 'PUT',
      headers: { authorization: 'Bearer store' },
      body: 'hello world',
    });
  });

  test('opens the source again, with a new token, when the connection broke', async () => {
    const { client, server } = await clientOf(transfer, hangUp, transfer, kept);
    expect(await client.folders.putFile(file, 'text')).toMatchObject({ bytes: 4 });
    expect(server.seen).toHaveLength(4);
  });

  test('gives a proxy that is away the tries of every other call, with a pause before each', async () => {
    const { client, server } = await clientOf(transfer, hangUp, transfer, hangUp, transfer, hangUp, transfer, kept);
    expect(await client.folders.putFile(file, 'text')).toMatchObject({ bytes: 4 });
    expect(server.seen).toHaveLength(8);
  });

  test('fails when the proxy kept other bytes', async () => {
    const { client } = await clientOf(transfer, json(201, { path: 'p', bytes: 4, sha256: sha256('other') }));
    await expect(client.folders.putFile(file, 'text')).rejects.toBeInstanceOf(TransferError);
  });

  test('tells the refusal of the proxy', async () => {
    const { client } = await clientOf(transfer, problem(413, 'too_large'));
    await expect(client.folders.putFile(file, 'text')).rejects.toMatchObject({ code: 'too_large' });
  });
});

describe('readFile', () => {
  const bytes =
    (text: string, headers: Record<string, string>): Reply =>
    (response) =>
      response.writeHead(200, headers).end(text);
  const digest = (text: string) => `sha-256=:${Buffer.from(sha256(text), 'hex').toString('base64')}:`;

  test('checks the bytes against the digest that it asks for', async () => {
    const headers = { 'repr-digest': digest('text') };
    const { client, server } = await clientOf(transfer, bytes('text', headers), transfer, bytes('tExt', headers));
    expect(Buffer.from(await client.folders.readFile(file)).toString()).toBe('text');
    await expect(client.folders.readFile(file)).rejects.toBeInstanceOf(TransferError);
    expect(server.seen[1]?.headers['x-berth-checksum']).toBe('true');
  });
});

test('listFiles and deleteFile ask for a token of their own operation', async () => {
  const entry = { path: 'a', type: 'file', bytes: 1, modifiedAt: '' };
  const { client, server } = await clientOf(transfer, json(200, { items: [entry] }), transfer, (response) =>
    response.writeHead(204).end(),
  );
  expect(await client.folders.listFiles('data')).toEqual([entry]);
  await client.folders.deleteFile(file);
  expect(server.seen.map(({ method, body }) => [method, body])).toEqual([
    ['POST', '{"operation":"list"}'],
    ['GET', ''],
    ['POST', '{"operation":"delete","path":"a/b.txt"}'],
    ['DELETE', ''],
  ]);
});
