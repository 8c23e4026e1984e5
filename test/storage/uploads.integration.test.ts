import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StorageAdmission, StorageClaims, StorageOperation } from '../../src/contract/index.js';
import { newFolderId } from '../../src/platform/ids.js';
import type { TokenSigner } from '../../src/platform/tokens.js';
import { testKeys } from '../api/support.js';
import { endChild, eventually, freePort } from '../support/process.js';

/** A real proxy in a process of its own: it is killed in the middle of uploads. */
let dir: string;
let volume: string;
let env: NodeJS.ProcessEnv;
let child: ChildProcess;
let url: string;
let signer: TokenSigner;
const folderId = newFolderId();

async function start(): Promise<void> {
  child = spawn(process.execPath, ['--import', 'tsx', 'workers/storage.ts'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await eventually('the proxy is up', async () => (await fetch(`${url}/healthz`).catch(() => null))?.status === 200);
}
async function kill(): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'berth-test-uploads-'));
  volume = join(dir, 'volume');
  mkdirSync(volume);
  const keys = await testKeys();
  signer = keys.signer;
  writeFileSync(join(dir, 'verify'), JSON.stringify(keys.verifyKeys));
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  env = {
    ...process.env,
    BERTH_STORAGE_PORT: String(port),
    BERTH_VOLUMES: JSON.stringify({ main: volume }),
    BERTH_VERIFY_KEY_FILE: join(dir, 'verify'),
    BERTH_LOG_LEVEL: 'silent',
  };
  await start();
});
afterAll(async () => {
  await endChild(child, 'SIGTERM');
  rmSync(dir, { recursive: true, force: true });
});

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');
const token = (operation: StorageOperation, path: string, more: Partial<StorageClaims> = {}): Promise<string> =>
  signer.sign({
    audience: 'storage',
    seconds: 60,
    claims: { volume: 'main', folderId, path, operation, maxBytes: 2 ** 40, ...more },
  });
const stored = (path: string): Buffer => readFileSync(join(volume, folderId, path));
const bearer = (jwt: string) => ({ authorization: `Bearer ${jwt}`, 'tus-resumable': '1.0.0' });

async function usage(): Promise<{ bytes: number; files: number; reservedBytes: number }> {
  const headers = bearer(await token('usage', ''));
  const answer = (await (await fetch(`${url}/v1/usage/${folderId}`, { headers })).json()) as Record<string, number>;
  return { bytes: answer['bytes'] ?? -1, files: answer['files'] ?? -1, reservedBytes: answer['reservedBytes'] ?? -1 };
}

async function begin(path: string, bytes: Buffer, more: { jwt?: string; sum?: string } = {}) {
  const jwt = more.jwt ?? (await token('write', path));
  const metadata = `sha256 ${Buffer.from(more.sum ?? sha256(bytes)).toString('base64')}`;
  const headers = { ...bearer(jwt), 'upload-length': String(bytes.length), 'upload-metadata': metadata };
  const answer = await fetch(`${url}/v1/uploads/main`, { method: 'POST', headers });
  return { jwt, answer, location: new URL(answer.headers.get('location') ?? '/', url).href };
}
async function offsetOf(location: string, path: string): Promise<[status: number, offset: number, sum: string | null]> {
  const headers = bearer(await token('write', path, { resume: true }));
  const head = await fetch(location, { method: 'HEAD', headers });
  return [head.status, Number(head.headers.get('upload-offset')), head.headers.get('x-berth-sha256')];
}
async function patch(location: string, path: string, rest: Buffer, offset: number): Promise<Response> {
  const headers = {
    ...bearer(await token('write', path, { resume: true })),
    'content-type': 'application/offset+octet-stream',
    'upload-offset': String(offset),
  };
  return fetch(location, { method: 'PATCH', headers, body: new Uint8Array(rest) });
}
/** Sends so much of a PATCH that announces all, and hangs up, or has the proxy killed. */
async function cutAt(location: string, jwt: string, how: { bytes: Buffer; at: number; kill?: boolean }): Promise<void> {
  const { hostname, port, pathname } = new URL(location);
  const headers = {
    ...bearer(jwt),
    'content-type': 'application/offset+octet-stream',
    'upload-offset': '0',
    'content-length': String(how.bytes.length),
  };
  const sent = httpRequest({ method: 'PATCH', hostname, port, path: pathname, headers });
  sent.on('error', () => undefined);
  await new Promise<void>((resolve) => sent.write(how.bytes.subarray(0, how.at), () => resolve()));
  if (how.kill === true) await kill();
  sent.destroy();
}
async function goOn(location: string, path: string, bytes: Buffer): Promise<Response> {
  let offset = -1;
  await eventually('the cut is over', async () => {
    const [status, at] = await offsetOf(location, path);
    const isStill = status === 200 && at === offset;
    offset = at;
    return isStill;
  });
  return patch(location, path, bytes.subarray(offset), offset);
}

const bytes = randomBytes(3_000_000);

test('an upload that is cut at random bytes is gone on with, and nobody sees a part of it', async () => {
  const { jwt, location } = await begin('cut.bin', bytes);
  expect((await usage()).reservedBytes).toBe(bytes.length);
  await cutAt(location, jwt, { bytes, at: 1 + Math.floor(Math.random() * 2_900_000) });
  expect(existsSync(join(volume, folderId, 'cut.bin'))).toBe(false);
  const ended = await goOn(location, 'cut.bin', bytes);
  expect([ended.status, ended.headers.get('x-berth-sha256')]).toEqual([204, sha256(bytes)]);
  expect(stored('cut.bin').equals(bytes)).toBe(true);
  expect(await usage()).toEqual({ bytes: bytes.length, files: 1, reservedBytes: 0 });
});

test('a proxy that is killed in the middle knows the upload when it is back, and the sum is right', async () => {
  const { jwt, location } = await begin('killed.bin', bytes);
  await cutAt(location, jwt, { bytes, at: 1_700_000, kill: true });
  await start();
  expect((await usage()).reservedBytes).toBe(bytes.length);
  expect((await goOn(location, 'killed.bin', bytes)).headers.get('x-berth-sha256')).toBe(sha256(bytes));
  expect(stored('killed.bin').equals(bytes)).toBe(true);
  expect(await usage()).toEqual({ bytes: 2 * bytes.length, files: 2, reservedBytes: 0 });
  const [status, offset, sum] = await offsetOf(location, 'killed.bin');
  expect([status, offset, sum]).toEqual([200, bytes.length, sha256(bytes)]);
});

test('a write token that was used stays used up when the proxy was killed', async () => {
  const jwt = await token('write', 'used.bin');
  expect((await begin('used.bin', bytes, { jwt })).answer.status).toBe(201);
  const put = () =>
    fetch(`${url}/v1/folders/${folderId}/put.bin`, { method: 'PUT', body: 'x', headers: bearer(putToken) });
  const putToken = await token('write', 'put.bin');
  expect((await put()).status).toBe(201);
  await kill();
  await start();
  expect((await begin('used.bin', bytes, { jwt })).answer.status).toBe(401);
  expect((await put()).status).toBe(401);
});

test('of two writers of one file each is whole, the last one stays, and it is counted once', async () => {
  const before = await usage();
  const other = randomBytes(2_000_000);
  const [one, two] = await Promise.all([begin('both.bin', bytes), begin('both.bin', other)]);
  const answers = await Promise.all([
    patch(one.location, 'both.bin', bytes, 0),
    patch(two.location, 'both.bin', other, 0),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([204, 204]);
  const kept = stored('both.bin');
  expect([bytes, other].some((whole) => whole.equals(kept))).toBe(true);
  const after = await usage();
  expect([after.bytes - before.bytes, after.files - before.files]).toEqual([kept.length, 1]);
});

test('a wrong sum at the end is refused and leaves nothing', async () => {
  const { location } = await begin('wrong.bin', bytes, { sum: '0'.repeat(64) });
  const answer = await patch(location, 'wrong.bin', bytes, 0);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([400, 'application/problem+json']);
  expect(existsSync(join(volume, folderId, 'wrong.bin'))).toBe(false);
  expect((await offsetOf(location, 'wrong.bin'))[0]).toBe(404);
});

const others: [title: string, jwt: () => Promise<string>, status: number][] = [
  ['one that began another upload', () => token('write', 'mine.bin'), 403],
  ['one for another path', () => token('write', 'other.bin', { resume: true }), 403],
  ['one of another folder', () => token('write', 'mine.bin', { resume: true, folderId: newFolderId() }), 403],
  ['one for reading', () => token('read', 'mine.bin'), 403],
  ['none that is valid', async () => 'a.b.c', 401],
];
test.each(others)('an upload is not gone on with under %s', async (_title, jwt, status) => {
  const { location } = await begin('mine.bin', Buffer.from('mine'));
  const headers = { ...bearer(await jwt()), 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
  expect((await fetch(location, { method: 'PATCH', headers, body: 'evil' })).status).toBe(status);
  await fetch(location, { method: 'DELETE', headers: bearer(await token('write', 'mine.bin', { resume: true })) });
});

async function admit(jti: string, limitBytes: number, ofBytes: number | null): Promise<Response> {
  const admission: StorageAdmission = {
    jti,
    expiresAtSeconds: Math.ceil(Date.now() / 1000) + 60,
    folderId,
    bytes: ofBytes,
    limits: [{ name: 'user bob', limitBytes, folders: [{ volume: 'main', folderId }] }],
  };
  const headers = bearer(await token('admit', ''));
  return fetch(`${url}/v1/admissions`, { method: 'POST', headers, body: JSON.stringify(admission) });
}

test('what has no room is refused before a token is signed, and room that is kept counts for others', async () => {
  const { bytes: used, reservedBytes } = await usage();
  const free = 5_000_000;
  const limit = used + reservedBytes + free;
  expect((await admit('a', limit, 3_000_000)).status).toBe(204);
  const refused = await admit('b', limit, 3_000_000);
  expect([refused.status, ((await refused.json()) as { detail: string }).detail]).toEqual([
    413,
    `user bob holds ${used + reservedBytes + 3_000_000} of ${limit} bytes in folders; this needs 3000000 more`,
  ]);
  expect((await admit('c', limit, 2_000_000)).status).toBe(204);
});

test('a quota that is reached in the middle refuses an upload of unknown length and leaves nothing', async () => {
  const { bytes: used, reservedBytes } = await usage();
  expect((await admit('stream', used + reservedBytes + 1_000_000, null)).status).toBe(204);
  const jwt = await token('write', 'stream.bin', { jti: 'stream', admitted: true });
  let parts = 256;
  const body = new ReadableStream({
    // Not in one breath: fetch goes on to read what it has nobody to send to, and nothing else would run.
    async pull(controller) {
      await new Promise((resolve) => setImmediate(resolve));
      if (parts === 0) return controller.close();
      parts -= 1;
      controller.enqueue(new Uint8Array(65_536));
    },
  });
  const init = { method: 'PUT', headers: bearer(jwt), body, duplex: 'half' } as RequestInit;
  const status = await fetch(`${url}/v1/folders/${folderId}/stream.bin`, init).then(
    (answer) => answer.status,
    () => 'cut',
  );
  expect([413, 'cut']).toContain(status);
  await eventually('nothing is left', () => !existsSync(join(volume, folderId, 'stream.bin')));
  expect((await usage()).bytes).toBe(used);
});

test('what a session wrote meanwhile counts at the end of an upload: over the quota nothing is left', async () => {
  const { bytes: used, reservedBytes } = await usage();
  expect((await admit('late', used + reservedBytes + bytes.length + 10, bytes.length)).status).toBe(204);
  const jwt = await token('write', 'late.bin', { jti: 'late', admitted: true });
  const { location } = await begin('late.bin', bytes, { jwt });
  writeFileSync(join(volume, folderId, 'by-a-session'), Buffer.alloc(1_000));
  await new Promise((resolve) => setTimeout(resolve, 1_100)); // a count is good for a second
  expect((await patch(location, 'late.bin', bytes, 0)).status).toBe(413);
  expect(existsSync(join(volume, folderId, 'late.bin'))).toBe(false);
  expect(await usage()).toMatchObject({ bytes: used + 1_000, reservedBytes });
});

test('a file system that is full refuses, and the half is removed', async () => {
  const full = join(volume, 'full');
  mkdirSync(full);
  const small = { ...env, BERTH_STORAGE_PORT: String(await freePort()), BERTH_VOLUMES: JSON.stringify({ main: full }) };
  // A small file system where this may mount one; else a limit on the size of a file, which says EFBIG for ENOSPC.
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', full]).status === 0;
  const limit = isMounted ? '' : "ulimit -f 2048; trap '' XFSZ;";
  const shell = `${limit} exec "${process.execPath}" --import tsx workers/storage.ts`;
  const other = spawn('bash', ['-c', shell], { env: small, stdio: 'ignore' });
  const base = `http://127.0.0.1:${small.BERTH_STORAGE_PORT}`;
  try {
    await eventually('it is up', async () => (await fetch(`${base}/healthz`).catch(() => null))?.status === 200);
    const headers = bearer(await token('write', 'big.bin'));
    const answer = await fetch(`${base}/v1/folders/${folderId}/big.bin`, {
      method: 'PUT',
      headers,
      body: new Uint8Array(Buffer.alloc(4_000_000)),
    });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '60']);
    const begun = await fetch(`${base}/v1/uploads/main`, {
      method: 'POST',
      headers: {
        ...bearer(await token('write', 'big.bin')),
        'upload-length': '4000000',
        'content-type': 'application/offset+octet-stream',
      },
      body: new Uint8Array(Buffer.alloc(4_000_000)),
    });
    expect(begun.status).toBe(503);
    const left = () => spawnSync('find', [full, '-type', 'f', '!', '-name', 'used-tokens']).stdout.toString();
    await eventually('nothing is left', () => left() === '');
  } finally {
    await endChild(other, 'SIGTERM');
    if (isMounted) spawnSync('umount', [full]);
  }
});

test('links in a folder lead nobody out of it: not a tree, not an archive, not a sum', async () => {
  symlinkSync('/etc', join(volume, folderId, 'out'));
  const read = bearer(await token('read', ''));
  const sums = (await (
    await fetch(`${url}/v1/folders/${folderId}?checksum=tree&items=true`, { headers: read })
  ).json()) as { items: { path: string }[] };
  expect(sums.items.filter(({ path }) => path.startsWith('out'))).toEqual([]);
  const tar = await (await fetch(`${url}/v1/folders/${folderId}?archive=tar`, { headers: read })).text();
  expect(tar).not.toContain('passwd');
});
