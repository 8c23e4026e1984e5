import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { getFile } from '../../src/cli/transfer/get-file.js';
import { keptUploads } from '../../src/cli/transfer/kept-uploads.js';
import { localFiles } from '../../src/cli/transfer/local-tree.js';
import { putFiles } from '../../src/cli/transfer/put-files.js';
import { createTransferMeter } from '../../src/cli/transfer/transfer-meter.js';
import { Client } from '../../src/sdk/index.js';
import { startTestApi, type TestApi } from '../api/support.js';

let api: TestApi;
let dir: string;
let client: Client;
let folder: string;
beforeAll(async () => {
  api = await startTestApi();
  dir = mkdtempSync(join(tmpdir(), 'berth-test-put-'));
  client = new Client({ baseUrl: await api.listen(), token: await api.user('bob') });
  folder = (await client.folders.create({ name: 'data' })).id;
});
afterAll(async () => {
  await api.close();
  rmSync(dir, { recursive: true, force: true });
});

const meter = () => createTransferMeter({ bytes: 1, files: 1 }, { nowMs: () => performance.now() });
const put = async (sources: string[], target: string, signal = new AbortController().signal) =>
  putFiles(await localFiles(sources, target), {
    client,
    folder,
    parallel: 4,
    kept: keptUploads(join(dir, 'kept'), folder),
    meter: meter(),
    signal,
    again: false,
  });
const get = (path: string, target: string) =>
  getFile({ folder, path }, target, { client, signal: new AbortController().signal, onProgress: () => undefined });

test('a tree is put, small files together and large ones alone, and a second put sends only what changed', async () => {
  const tree = join(dir, 'tree');
  mkdirSync(join(tree, 'sub'), { recursive: true });
  for (let file = 0; file < 20; file += 1) writeFileSync(join(tree, 'sub', `${file}.txt`), `file ${file}`);
  const large = randomBytes(2_000_000);
  writeFileSync(join(tree, 'large.bin'), large);
  expect((await put([tree], 'models')).sent).toBe(21);
  expect(readFileSync(join(api.volumeDir, folder, 'models/large.bin')).equals(large)).toBe(true);
  expect(readFileSync(join(api.volumeDir, folder, 'models/sub/7.txt'), 'utf8')).toBe('file 7');
  writeFileSync(join(tree, 'sub', '7.txt'), 'FILE 7');
  expect((await put([tree], 'models')).sent).toBe(1);
});

test('a put that was ended goes on where it was, in another process too', async () => {
  const file = join(dir, 'cut.bin');
  const bytes = randomBytes(8_000_000);
  writeFileSync(file, bytes);
  const [local] = await localFiles([file], 'cut.bin');
  if (local === undefined) throw new Error('no file');
  const ended = new AbortController();
  const kept = keptUploads(join(dir, 'kept'), folder);
  const cut = client.folders.uploadFile(
    { folder, path: 'cut.bin' },
    {
      bytes: bytes.length,
      open: async function* open() {
        yield bytes.subarray(0, 4_000_000);
        await new Promise((resolve) => setTimeout(resolve, 200));
        ended.abort(new Error('ended'));
        await new Promise(() => undefined);
      },
    },
    { signal: ended.signal, onBegun: (url) => kept.keep(local, url) },
  );
  await expect(cut).rejects.toThrow('ended');
  expect(existsSync(join(api.volumeDir, folder, 'cut.bin'))).toBe(false);
  expect(kept.find(local)).toMatch(/^http/);
  await put([file], 'cut.bin');
  expect(readFileSync(join(api.volumeDir, folder, 'cut.bin')).equals(bytes)).toBe(true);
  expect(kept.find(local)).toBeUndefined();
});

test('a get goes on with what was saved, and begins anew when the file is another by now', async () => {
  const target = join(dir, 'got.bin');
  const bytes = randomBytes(500_000);
  await client.folders.putFile({ folder, path: 'get.bin' }, bytes);
  const { etag } = await client.folders.openFile({ folder, path: 'get.bin' });
  writeFileSync(`${target}.part`, bytes.subarray(0, 200_000));
  writeFileSync(`${target}.part.etag`, etag);
  await get('get.bin', target);
  expect(readFileSync(target).equals(bytes)).toBe(true);
  writeFileSync(`${target}.part`, 'of another version');
  writeFileSync(`${target}.part.etag`, '"old"');
  await get('get.bin', target);
  expect(readFileSync(target).equals(bytes)).toBe(true);
  expect(existsSync(`${target}.part.etag`)).toBe(false);
});
