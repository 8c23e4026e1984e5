import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ArtifactCache, createArtifactCache } from '../../../src/agent/engines/artifact-cache.js';
import { createLogger } from '../../../src/platform/log.js';

const MIB = 2 ** 20;
const DATA = randomBytes(MIB);
const SHA = createHash('sha256').update(DATA).digest('hex');
const signal = new AbortController().signal;

let dir: string;
let url: string;
let close: () => void;
/** `path range` of each request. */
let asked: string[];
/** So many bytes, then the connection is cut; once. */
let cutAfter: number | undefined;
let used: Set<string>;

/** Ranges, an ETag, HF's and S3's lists. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '', 'http://x');
  asked.push(`${pathname} ${request.headers.range ?? ''}`.trim());
  if (pathname.startsWith('/api/models/')) {
    const siblings = [
      { rfilename: '.gitattributes', size: 1 },
      { rfilename: 'config/a.json', size: MIB },
      { rfilename: 'model.safetensors', size: MIB, lfs: { sha256: SHA, size: MIB } },
      { rfilename: 'pytorch_model.bin', size: MIB },
    ];
    return void response.end(JSON.stringify({ sha: 'abc', siblings }));
  }
  if (pathname === '/bucket') {
    const entry = (key: string) => `<Contents><Key>${key}</Key><Size>${MIB}</Size></Contents>`;
    return void response.end(`<ListBucketResult>${entry('m/x')}${entry('m/y/z')}</ListBucketResult>`);
  }
  if (pathname === '/none') return void response.writeHead(404).end();
  const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
  const range = from > 0 && { 'content-range': `bytes ${from}-${MIB - 1}/${MIB}` };
  response.writeHead(from > 0 ? 206 : 200, { etag: '"1"', 'content-length': MIB - from, ...range });
  if (cutAfter === undefined) return void response.end(DATA.subarray(from));
  response.write(DATA.subarray(from, from + cutAfter), () => setTimeout(() => response.destroy(), 50));
  cutAfter = undefined;
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'berth-artifacts-'));
  [asked, used, cutAfter] = [[], new Set(), undefined];
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  close = () => {
    server.closeAllConnections();
    server.close();
  };
});
afterEach(() => {
  close();
  rmSync(dir, { recursive: true, force: true });
});

const cache = (bytesMax = 10 * MIB): ArtifactCache =>
  createArtifactCache({
    dir: join(dir, 'cache'),
    bytesMax,
    settings: { huggingFaceEndpoint: url, s3: { endpoint: url, region: 'x' } },
    volumes: { main: dir },
    inUse: async () => used,
    log: createLogger({ process: 'test', level: 'silent' }),
  });

test('two who ask at once are one fetch; later ones are none, also after a restart', async () => {
  const here = cache();
  const [first, second] = await Promise.all([
    here.ensure(`${url}/m`, SHA, signal),
    here.ensure(`${url}/m`, SHA, signal),
  ]);
  expect(second).toEqual(first);
  expect(first.path).toBe(`/models/${first.key}/m`);
  expect(readFileSync(join(first.source, 'm')).equals(DATA)).toBe(true);
  await cache().ensure(`${url}/m`, SHA, signal);
  expect(asked).toEqual(['/m']);
  expect(await here.list()).toEqual([`${url}/m`]);
});

test('a fetch that is cut goes on where it was', async () => {
  cutAfter = MIB / 2;
  const { source } = await cache().ensure(`${url}/m`, SHA, signal);
  expect(readFileSync(join(source, 'm')).equals(DATA)).toBe(true);
  expect(asked).toEqual(['/m', `/m bytes=${MIB / 2}-`]);
});

test('a wrong checksum, nothing there and a folder that is not here are told apart, and leave nothing', async () => {
  await expect(cache().ensure(`${url}/m`, '0'.repeat(64), signal)).rejects.toMatchObject({ whose: 'claim' });
  await expect(cache().ensure(`${url}/none`, null, signal)).rejects.toMatchObject({ whose: 'claim' });
  await expect(cache().ensure('folder://none', null, signal)).rejects.toMatchObject({ whose: 'node' });
  await expect(cache().ensure('folder://../x', null, signal)).rejects.toMatchObject({ whose: 'claim' });
  expect(await cache().list()).toEqual([]);
});

test('the least recently used goes first, and never what an engine uses', async () => {
  const here = cache(2 * MIB);
  const [a, b] = [await here.ensure(`${url}/a`, null, signal), await here.ensure(`${url}/b`, null, signal)];
  used.add(a.key);
  const after = cache(2 * MIB); // a start just handed out is kept, too: another process has no such leases
  await after.ensure(`${url}/c`, null, signal);
  expect((await after.list()).toSorted()).toEqual([`${url}/a`, `${url}/c`]);
  used.add(b.key);
  await expect(after.ensure(`${url}/d`, null, signal)).rejects.toMatchObject({ whose: 'node' });
});

test('a repository of Hugging Face is fetched at one commit, without doubles; a prefix of S3 with all that lies below', async () => {
  const hub = await cache().ensure('huggingface://org/name', null, signal);
  expect(hub.path).toBe(`/models/${hub.key}`);
  expect(asked.slice(1)).toEqual(['/org/name/resolve/abc/config/a.json', '/org/name/resolve/abc/model.safetensors']);
  const { source } = await cache().ensure('s3://bucket/m/', null, signal);
  expect(readFileSync(join(source, 'y/z')).equals(DATA)).toBe(true);
  mkdirSync(join(dir, 'fld_1'));
  expect(await cache().ensure('folder://fld_1', null, signal)).toMatchObject({ key: '', path: '/models/fld_1' });
});
