import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newApiKey } from '../../src/platform/tokens.js';
import { startTestPostgres, type TestPostgres } from '../support/postgres.js';
import { endChild, eventually, freePort } from '../support/process.js';
import { session } from './support.js';

let postgres: TestPostgres;
let dir: string;
let child: ChildProcess;
let env: NodeJS.ProcessEnv;
let base: string;
const { secret: key } = newApiKey();

const start = (): ChildProcess =>
  spawn(process.execPath, ['--import', 'tsx', 'workers/api.ts'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
const call = (method: string, path: string, body?: object): Promise<Response> =>
  fetch(`${base}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const isUp = async (): Promise<boolean> => (await fetch(`${base}/healthz`).catch(() => null))?.status === 200;

/** Temporal is away all the while: nobody listens on its address. */
beforeAll(async () => {
  postgres = await startTestPostgres();
  dir = mkdtempSync(join(tmpdir(), 'berth-test-api-'));
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  env = {
    ...process.env,
    DATABASE_URL: postgres.url,
    BERTH_TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
    BERTH_API_PORT: String(port),
    BERTH_API_URL: base,
    BERTH_STORAGE_URL: 'http://127.0.0.1:9',
    BERTH_GATEWAY_URL: 'http://127.0.0.1:9',
    BERTH_APPS_URL: 'http://apps.localhost:9',
    BERTH_VOLUMES: JSON.stringify({ main: dir }),
    BERTH_NODE_NAME: 'node-1',
    BERTH_NODE_TOKEN: 'berthnode_test',
    BERTH_SEALING_KEY_FILE: file('seal', randomBytes(32).toString('base64')),
    BERTH_SIGNING_KEY_FILE: file('sign', JSON.stringify(await exportJWK(privateKey))),
    BERTH_VERIFY_KEY_FILE: file('verify', '{"keys":[]}'),
    BERTH_BOOTSTRAP_KEY_FILE: file('key', `${key}\n`),
    BERTH_LOG_LEVEL: 'silent',
  };
  child = start();
  await eventually('the API answers', isUp, 60);
});
afterAll(async () => {
  await endChild(child, 'SIGKILL');
  await postgres.stop();
  rmSync(dir, { recursive: true, force: true });
});

test("it prepares an empty database, and the key of its file is the first operator's", async () => {
  expect(await (await call('GET', '/v1/me')).json()).toMatchObject({
    user: 'admin',
    role: 'operator',
    domain: 'default',
  });
  const health = (await (await call('GET', '/v1/health')).json()) as { parts: { name: string; ok: boolean }[] };
  expect(Object.fromEntries(health.parts.map(({ name, ok }) => [name, ok]))).toEqual({
    postgres: true,
    temporal: false,
    storage: false,
  });
});

test('a submission while Temporal is away is kept and answered as SUBMITTED', async () => {
  const answer = await call('POST', '/v1/sessions', session({ name: 'early' }));
  const made = (await answer.json()) as { id: string; state: string };
  expect([answer.status, made.state]).toEqual([201, 'SUBMITTED']);
  expect(((await (await call('GET', `/v1/sessions/${made.id}`)).json()) as { state: string }).state).toBe('SUBMITTED');
});

test('its metrics count requests and what the ledger has', async () => {
  const text = await (await call('GET', '/metrics')).text();
  expect(text).toMatch(/berth_http_request_seconds_count\{process="api",operation="createSession",status="201"\} 1/);
  expect(text).toMatch(/berth_submissions_open\{process="api"\} 1/);
});

test('while Postgres is away it answers 503 with Retry-After, and works again after', async () => {
  await postgres.kill();
  const answer = await call('GET', '/v1/sessions');
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, 'unavailable']);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await fetch(`${base}/healthz`)).status).toBe(200);
  await postgres.start();
  await eventually('it works again', async () => (await call('GET', '/v1/sessions')).status === 200);
});

const ends: [title: string, end: () => void][] = [
  ['SIGTERM', () => child.kill('SIGTERM')],
  ['the loss of its supervisor', () => child.disconnect()],
];
test.each(ends)('%s ends it with 0', async (_title, end) => {
  if (child.exitCode !== null) child = start();
  await eventually('the API answers', isUp, 60);
  const gone = once(child, 'exit');
  end();
  expect(await gone).toEqual([0, null]);
});
