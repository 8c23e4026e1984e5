import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { StorageOperation } from '../../src/contract/index.js';
import { newFolderId } from '../../src/platform/ids.js';
import type { TokenSigner } from '../../src/platform/tokens.js';
import { tarBatch } from '../../src/sdk/tar-batch.js';
import { testKeys } from '../api/support.js';
import { endChild, eventually, freePort } from '../support/process.js';
import { atLeastFloor, atMostFloor, info, median, numberOption, type Result } from './support/report.js';

/** Bytes through the storage proxy, beside a bare Node stream with the same syncs, in turn, on one disk. */
const MIB = numberOption('mib', 1_024);
const ROUNDS = numberOption('rounds', 3);
const FILES = 1_000;
const BLOCK = randomBytes(2 ** 20);
const folderId = newFolderId();

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers?: Record<string, string>;
  readonly body?: AsyncIterable<Uint8Array>;
}

/** Answers the headers; the body is read and thrown away. */
function send({ method, url, headers = {}, body }: Sent): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method, headers }, (answer) => {
      answer.on('end', () =>
        (answer.statusCode ?? 500) < 300
          ? resolve(answer.headers)
          : reject(new Error(`${method}: ${answer.statusCode}`)),
      );
      answer.resume();
    });
    sent.on('error', reject);
    if (body === undefined) sent.end();
    else pipeline(Readable.from(body), sent).catch(reject);
  });
}

async function* blocks(): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < MIB; sent += 1) yield BLOCK;
}

async function mibPerSecond(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return MIB / ((performance.now() - begun) / 1000);
}

interface Plant {
  readonly berth: string;
  readonly bare: string;
  readonly nginx: string | null;
  readonly small: string;
  readonly token: (operation: StorageOperation, path: string) => Promise<string>;
}

async function putByTus({ berth, token }: Plant, path: string): Promise<void> {
  const authorization = `Bearer ${await token('write', path)}`;
  const tus = { authorization, 'tus-resumable': '1.0.0' };
  const bytes = String(MIB * 2 ** 20);
  const made = await send({
    method: 'POST',
    url: `${berth}/v1/uploads/main`,
    headers: { ...tus, 'upload-length': bytes },
  });
  const headers = {
    ...tus,
    'upload-offset': '0',
    'content-type': 'application/offset+octet-stream',
    'content-length': bytes,
  };
  await send({ method: 'PATCH', url: new URL(String(made['location']), berth).href, headers, body: blocks() });
}

async function putSmall({ berth, small, token }: Plant, path: string): Promise<number> {
  const begun = performance.now();
  const names = readdirSync(small);
  const files = names.map((name) => ({ path: name, read: () => readFile(join(small, name)) }));
  const authorization = `Bearer ${await token('unpack', path)}`;
  const url = `${berth}/v1/folders/${folderId}/${path}?unpack=tar`;
  await send({ method: 'POST', url, headers: { authorization }, body: tarBatch(files, () => undefined) });
  return performance.now() - begun;
}

async function tarSmall({ bare, small }: Plant, path: string): Promise<number> {
  const begun = performance.now();
  const tar = spawn('tar', ['c', '-C', small, '.'], { stdio: ['ignore', 'pipe', 'inherit'] });
  await send({ method: 'POST', url: `${bare}/${path}`, body: tar.stdout as AsyncIterable<Uint8Array> });
  return performance.now() - begun;
}

async function round(plant: Plant, turn: number) {
  const { berth, bare, nginx, token } = plant;
  const authorization = `Bearer ${await token('read', '')}`;
  const uploaded = await mibPerSecond(() => putByTus(plant, `big-${turn}`));
  const bareUp = await mibPerSecond(() => send({ method: 'PUT', url: `${bare}/big-${turn}`, body: blocks() }));
  const of = (url: string, headers = {}) => mibPerSecond(() => send({ method: 'GET', url, headers }));
  const down = await of(`${berth}/v1/folders/${folderId}/big-${turn}`, { authorization });
  const bareDown = await of(`${bare}/big-${turn}`);
  const nginxDown = nginx === null ? null : await of(`${nginx}/big-${turn}`);
  const [put, tar] = [await putSmall(plant, `small-${turn}`), await tarSmall(plant, `small-${turn}`)];
  return { uploaded, bareUp, down, bareDown, nginxDown, put, tar };
}

function startNginx(dir: string, root: string, port: number): ChildProcess | null {
  if (spawnSync('nginx', ['-v']).error !== undefined) return null;
  const config = `daemon off; pid ${dir}/nginx.pid; error_log ${dir}/nginx.log; user root; events {}
    http { access_log off; sendfile on; client_body_temp_path ${dir}/body; server { listen 127.0.0.1:${port}; root ${root}; } }`;
  writeFileSync(join(dir, 'nginx.conf'), config);
  return spawn('nginx', ['-c', join(dir, 'nginx.conf'), '-p', dir], { stdio: 'ignore' });
}

async function startAll(dir: string, signer: TokenSigner) {
  const volume = join(dir, 'volume');
  const bareDir = join(dir, 'bare');
  const small = join(dir, 'small');
  for (const made of [volume, bareDir, small]) mkdirSync(made);
  for (let file = 0; file < FILES; file += 1) writeFileSync(join(small, `file-${file}`), randomBytes(4_096));
  const [berthPort, barePort, nginxPort] = [await freePort(), await freePort(), await freePort()];
  const env = {
    ...process.env,
    BERTH_STORAGE_PORT: String(berthPort),
    BERTH_VOLUMES: JSON.stringify({ main: volume }),
    BERTH_VERIFY_KEY_FILE: join(dir, 'verify'),
    BERTH_LOG_LEVEL: 'silent',
  };
  const start = (args: string[]) =>
    spawn(process.execPath, ['--import', 'tsx', ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const children = [
    start(['workers/storage.ts']),
    start(['test/bench/support/bare-storage.ts', bareDir, String(barePort)]),
  ];
  const nginx = startNginx(dir, bareDir, nginxPort);
  const at = (port: number): string => `http://127.0.0.1:${port}`;
  const answers = async (port: number) => (await fetch(`${at(port)}/healthz`).catch(() => null)) !== null;
  await eventually('the proxy is up', () => answers(berthPort));
  const plant: Plant = {
    berth: at(berthPort),
    bare: at(barePort),
    nginx: nginx === null ? null : at(nginxPort),
    small,
    token: (operation, path) =>
      signer.sign({
        audience: 'storage',
        seconds: 600,
        claims: { volume: 'main', folderId, path, operation, maxBytes: 2 ** 40 },
      }),
  };
  return { plant, children: nginx === null ? children : [...children, nginx] };
}

export async function run(): Promise<Result> {
  const dir = mkdtempSync(join(tmpdir(), 'berth-bench-storage-'));
  const { signer, verifyKeys } = await testKeys();
  writeFileSync(join(dir, 'verify'), JSON.stringify(verifyKeys));
  const { plant, children } = await startAll(dir, signer);
  try {
    const rounds: Awaited<ReturnType<typeof round>>[] = [];
    for (let turn = 0; turn < ROUNDS; turn += 1) rounds.push(await round(plant, turn));
    const of = (pick: (one: (typeof rounds)[number]) => number): number => median(rounds.map(pick));
    const unit = 'MiB/s';
    const nginx = of(({ nginxDown }) => nginxDown ?? Number.NaN);
    return {
      name: 'storage',
      rows: [
        atLeastFloor(
          {
            name: `download of ${MIB} MiB`,
            measured: of(({ down }) => down),
            floor: of(({ bareDown }) => bareDown),
            unit,
          },
          0.85,
        ),
        ...(Number.isNaN(nginx) ? [] : [info({ name: 'the same by nginx, sendfile', measured: nginx, unit })]),
        atLeastFloor(
          {
            name: `upload of ${MIB} MiB by tus, summed and synced`,
            measured: of(({ uploaded }) => uploaded),
            floor: of(({ bareUp }) => bareUp),
            unit,
          },
          0.7,
        ),
        atMostFloor(
          {
            name: `${FILES} files of 4 KiB, each summed and synced`,
            measured: of(({ put }) => put),
            floor: of(({ tar }) => tar),
            unit: 'ms',
          },
          { times: 2 },
        ),
      ],
      notes: [
        `${ROUNDS} rounds, medians; the floors are a bare Node stream with the same syncs, and tar to tar with one sync`,
      ],
    };
  } finally {
    for (const child of children) await endChild(child, 'SIGTERM');
    rmSync(dir, { recursive: true, force: true });
  }
}
