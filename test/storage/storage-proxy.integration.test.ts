import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newFolderId } from '../../src/platform/ids.js';
import { eventually } from '../support/process.js';
import { startTestStorage, type TestStorage } from './support.js';

let storage: TestStorage;
let outside: string;
beforeAll(async () => {
  storage = await startTestStorage();
  outside = mkdtempSync(join(tmpdir(), 'berth-test-outside-'));
  writeFileSync(join(outside, 'secret.txt'), 'secret');
  mkdirSync(join(storage.folderDir, 'plain'), { recursive: true });
  writeFileSync(join(storage.folderDir, 'file.txt'), 'text');
  symlinkSync(outside, join(storage.folderDir, 'link'));
  symlinkSync(join(outside, 'secret.txt'), join(storage.folderDir, 'secret-link'));
  spawnSync('mkfifo', [join(storage.folderDir, 'pipe')]);
});
afterAll(async () => {
  await storage.close();
  rmSync(outside, { recursive: true, force: true });
});

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');
const code = async (response: Response): Promise<[number, string]> => [
  response.status,
  ((await response.json()) as { code: string }).code,
];

test('a file comes back as it was sent, with its sum and a strong ETag', async () => {
  const bytes = randomBytes(3_000_000);
  const sent = await storage.send('PUT', 'data/deep/model.bin', {
    body: bytes,
    headers: { 'x-berth-sha256': sha256(bytes) },
  });
  expect([sent.status, await sent.json()]).toEqual([
    201,
    { path: 'data/deep/model.bin', bytes: bytes.length, sha256: sha256(bytes) },
  ]);
  const got = await storage.send('GET', 'data/deep/model.bin');
  expect(sha256(Buffer.from(await got.arrayBuffer()))).toBe(sha256(bytes));
  expect(got.headers.get('x-berth-sha256')).toBe(sha256(bytes));
  const etag = got.headers.get('etag') ?? '';
  expect(etag).toMatch(/^"/);
  expect((await storage.send('GET', 'data/deep/model.bin', { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect(statSync(join(storage.folderDir, 'data/deep')).mode & 0o777).toBe(0o777);
});

const ranges: [title: string, range: string, status: number, text: string][] = [
  ['the first bytes', 'bytes=0-3', 206, '0123'],
  ['from a byte on', 'bytes=7-', 206, '789'],
  ['the last bytes', 'bytes=-2', 206, '89'],
  ['beyond the end', 'bytes=8-99', 206, '89'],
  ['several ranges', 'bytes=0-1,4-5', 200, '0123456789'],
  ['no range at all', 'bytes=x', 200, '0123456789'],
];
test.each(ranges)('a range: %s', async (_title, range, status, text) => {
  await storage.send('PUT', 'ten', { body: '0123456789' });
  const got = await storage.send('GET', 'ten', { headers: { range } });
  expect([got.status, await got.text()]).toEqual([status, text]);
});

test('a range behind the end is 416, and one of another version is the whole file', async () => {
  await storage.send('PUT', 'ten', { body: '0123456789' });
  const beyond = await storage.send('GET', 'ten', { headers: { range: 'bytes=10-' } });
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */10']);
  const stale = await storage.send('GET', 'ten', { headers: { range: 'bytes=0-1', 'if-range': '"old"' } });
  expect([stale.status, await stale.text()]).toEqual([200, '0123456789']);
});

test('an empty file is a file', async () => {
  expect((await storage.send('PUT', 'empty', { body: '' })).status).toBe(201);
  expect(await (await storage.send('GET', 'empty')).text()).toBe('');
});

test('HEAD tells size and, when asked, the sum', async () => {
  await storage.send('PUT', 'ten', { body: '0123456789' });
  const head = await storage.send('HEAD', 'ten', { query: '?checksum=true' });
  expect([head.status, head.headers.get('content-length'), head.headers.get('x-berth-sha256')]).toEqual([
    200,
    '10',
    sha256('0123456789'),
  ]);
});

test('a list has files and folders below, without links and special files', async () => {
  const { items, truncated } = (await (await storage.send('GET', '', { query: '?list=true' })).json()) as {
    items: { path: string; type: string }[];
    truncated: boolean;
  };
  const paths = items.map(({ path }) => path);
  expect(truncated).toBe(false);
  expect(paths).toContain('plain');
  expect(paths).toContain('file.txt');
  expect(paths).not.toEqual(expect.arrayContaining(['link']));
  expect(paths.join()).not.toMatch(/secret|pipe/);
});

const ESCAPES = [
  '../x',
  'a/../../x',
  '..',
  'a/./b',
  'a//b',
  '/etc/passwd',
  'a\0b',
  'a\\..\\b',
  'a\nb',
  `${'x'.repeat(256)}/y`,
  'x'.repeat(1025),
  'link/new',
  'link/secret.txt',
  'secret-link/x',
];
test.each(ESCAPES)('the path %j is 400 whatever is asked, and nothing is left', async (path) => {
  const before = storage.names();
  for (const method of ['PUT', 'GET', 'DELETE']) {
    const token = await storage.token(
      method === 'PUT' ? 'write' : method === 'GET' ? 'read' : 'delete',
      path.slice(0, 1024),
    );
    const url = `${storage.url}/v1/folders/${storage.folderId}/${encodeURIComponent(path).replaceAll('%2F', '/')}`;
    const [status] = await rawRequest(method, url, token);
    expect(status).toBe(400);
  }
  expect(storage.names()).toEqual(before);
  expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
});

/** As it stands, without the normalising that `fetch` does to a path. */
function rawRequest(method: string, url: string, token: string): Promise<[number, string]> {
  const { hostname, port, origin } = new URL(url);
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const sent = httpRequest({ method, hostname, port, path: url.slice(origin.length), headers }, (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      answer.on('end', () => resolve([answer.statusCode ?? 0, body]));
    });
    sent.on('error', reject);
    sent.end(method === 'PUT' ? 'evil' : undefined);
  });
}

test('a link as the file itself is not read, is replaced by an upload, and is removed without what it points at', async () => {
  expect(await code(await storage.send('GET', 'secret-link'))).toEqual([400, 'invalid_request']);
  expect((await storage.send('PUT', 'secret-link', { body: 'mine' })).status).toBe(201);
  expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
  expect((await storage.send('DELETE', 'link')).status).toBe(204);
  expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
});

test('a FIFO is refused at once instead of waited for', async () => {
  expect(await code(await storage.send('GET', 'pipe'))).toEqual([409, 'conflict']);
});

test('an upload to where a folder stands, and through a file, is refused', async () => {
  expect(await code(await storage.send('PUT', 'plain', { body: 'x' }))).toEqual([409, 'conflict']);
  expect(await code(await storage.send('PUT', 'file.txt/below', { body: 'x' }))).toEqual([400, 'invalid_request']);
});

const failures: [title: string, headers: Record<string, string>, maxBytes: number, status: number][] = [
  ['a wrong sum', { 'x-berth-sha256': '0'.repeat(64) }, 100, 400],
  ['a wrong digest', { 'content-digest': `sha-256=:${Buffer.alloc(32).toString('base64')}:` }, 100, 400],
  ['a sum that is none', { 'x-berth-sha256': 'abc' }, 100, 400],
  ['more bytes than the token allows', {}, 3, 413],
];
test.each(failures)(
  'an upload with %s is refused and leaves nothing, and its token may try again',
  async (_title, headers, maxBytes, status) => {
    const before = storage.names();
    const token = await storage.token('write', 'refused', { maxBytes });
    const refused = await storage.send('PUT', 'refused', { body: 'four', headers, token });
    expect(refused.status).toBe(status);
    expect(storage.names()).toEqual(before);
    expect((await storage.send('PUT', 'refused', { body: 'abc', token })).status).toBe(201);
    await storage.send('DELETE', 'refused');
  },
);

test('more bytes than allowed are refused in the middle of a stream of unknown length', async () => {
  const before = storage.names();
  const token = await storage.token('write', 'stream', { maxBytes: 100_000 });
  const body = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
  const outcome = await storage.send('PUT', 'stream', { body, token }).then(code, () => 'cut');
  expect(['cut', [413, 'too_large']]).toContainEqual(outcome);
  await eventually('nothing is left', () => storage.names().join() === before.join());
});

test('a cut upload leaves the old file and nothing else', async () => {
  await storage.send('PUT', 'kept', { body: 'old' });
  const before = storage.names();
  const token = await storage.token('write', 'kept');
  const cut = new AbortController();
  let sent = 0;
  const body = new ReadableStream({
    async pull(controller) {
      controller.enqueue(new Uint8Array(65_536));
      sent += 1;
      if (sent === 20) cut.abort();
      await new Promise((resolve) => setTimeout(resolve, 5));
    },
  });
  const url = `${storage.url}/v1/folders/${storage.folderId}/kept`;
  const init = {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}` },
    body,
    duplex: 'half',
    signal: cut.signal,
  };
  await expect(fetch(url, init as RequestInit)).rejects.toThrow();
  await eventually('the half is gone', () => storage.names().join() === before.join());
  expect(await (await storage.send('GET', 'kept')).text()).toBe('old');
});

test('a write token is good for one upload', async () => {
  const token = await storage.token('write', 'once');
  expect((await storage.send('PUT', 'once', { body: 'a', token })).status).toBe(201);
  expect(await code(await storage.send('PUT', 'once', { body: 'b', token }))).toEqual([401, 'unauthenticated']);
});

const tokens: [title: string, token: () => Promise<string>, status: number][] = [
  ['no token', async () => 'nonsense', 401],
  ['one that has expired', () => storage.token('read', 'file.txt', { seconds: -10 }), 401],
  ['one for a node', () => storage.token('read', 'file.txt', { audience: 'node/n' }), 401],
  ['one of another folder', () => storage.token('read', 'file.txt', { folderId: newFolderId() }), 403],
  ['one of another path', () => storage.token('read', 'other'), 403],
  ['one for a beginning of the name', () => storage.token('read', 'file'), 403],
  ['one for writing', () => storage.token('write', 'file.txt'), 403],
  ['one of another volume', () => storage.token('read', 'file.txt', { volume: 'elsewhere' }), 403],
  ['one of the folder above', () => storage.token('read', ''), 200],
];
test.each(tokens)('a download with %s', async (_title, token, status) => {
  expect((await storage.send('GET', 'file.txt', { token: await token() })).status).toBe(status);
});

test('a folder is removed with all in it, and a second time is success', async () => {
  await storage.send('PUT', 'a/b/c', { body: 'x' });
  symlinkSync(outside, join(storage.folderDir, 'a/out'));
  expect((await storage.send('DELETE', 'a')).status).toBe(204);
  expect(await code(await storage.send('DELETE', 'a'))).toEqual([404, 'not_found']);
  expect((await storage.send('DELETE', '')).status).toBe(204);
  expect((await storage.send('DELETE', '')).status).toBe(204);
  expect(storage.names()).toEqual([]);
  expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('secret');
});
