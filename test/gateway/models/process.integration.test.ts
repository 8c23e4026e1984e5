import { type ChildProcess, execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { exportJWK, generateKeyPair } from 'jose';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSeal } from '../../../src/platform/seal.js';
import { hashSecret } from '../../../src/platform/tokens.js';
import { nextId } from '../../store/ledger.js';
import {
  claim,
  EVERYTHING,
  emptyTurn,
  engineOf,
  gpusOf,
  openPool,
  orderOf,
  type PoolLedger,
  placeOf,
  putToSleep,
  ready,
} from '../../store/models.js';
import { query } from '../../store/upkeep.js';
import { endChild, eventually, freePort, spawnTied } from '../../support/process.js';
import { answerJson, answerStream, hello, type SimulatedEngine, startEngine } from './support.js';

/** The gateway as it is run: two workers on one port, a real Postgres, and a Temporal that is away. */
const ASK_MS = 5_000;
const SECRET = 'berth_process_test';
const SEALING_KEY = Buffer.alloc(32, 7);
const seal = createSeal(SEALING_KEY);
const run = promisify(execFile);
let dir: string;
let ledger: PoolLedger;
let engine: SimulatedEngine;
let gateway: ChildProcess;
let url: string;
let metricsUrl: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'berth-test-model-gateway-'));
  ledger = await openPool();
  const key = { id: nextId<never>('key'), name: 'client', user: 'admin', scope: 'write', prefix: 'berth_pr' } as const;
  await ledger.store.tenancy.createKey({ ...key, expiresInDays: null, hash: hashSecret(SECRET) });
  engine = await startEngine((response, body) =>
    /"stream": ?true/.test(body) ? answerStream(['four', ' is', ' it'])(response, body) : answerJson(response, body),
  );
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const kid = { kid: 'test', alg: 'ES256' };
  const verify = { keys: [{ ...(await exportJWK(publicKey)), ...kid }] };
  const files = { sign: { ...(await exportJWK(privateKey)), ...kid }, verify };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), JSON.stringify(content));
  writeFileSync(join(dir, 'seal'), SEALING_KEY.toString('base64'));
  const [port, metricsPort, temporalPort] = [await freePort(), await freePort(), await freePort()];
  url = `http://127.0.0.1:${port}`;
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
  const env = {
    ...process.env,
    DATABASE_URL: ledger.url,
    BERTH_GATEWAY_PORT: String(port),
    BERTH_GATEWAY_WORKERS: '2',
    BERTH_METRICS_PORT: String(metricsPort),
    BERTH_TEMPORAL_ADDRESS: `127.0.0.1:${temporalPort}`,
    BERTH_APPS_URL: `http://apps.localhost:${port}`,
    BERTH_SEALING_KEY_FILE: join(dir, 'seal'),
    BERTH_SIGNING_KEY_FILE: join(dir, 'sign'),
    BERTH_VERIFY_KEY_FILE: join(dir, 'verify'),
    BERTH_LOG_LEVEL: 'error',
  };
  gateway = spawnTied(process.execPath, ['--import', 'tsx', 'workers/gateway.ts'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await eventually('two workers serve', async () => (await workerPids()).length === 2 && (await isUp()), 180);
}, 240_000);
afterAll(async () => {
  await endChild(gateway, 'SIGTERM');
  await engine.close();
  await ledger.store.close();
  rmSync(dir, { recursive: true, force: true });
});

const isUp = async (): Promise<boolean> => (await fetch(`${url}/healthz`).catch(() => null))?.status === 200;
const workerPids = async (): Promise<number[]> =>
  (await run('pgrep', ['-P', String(gateway.pid), '-f', 'gateway.ts']).catch(() => ({ stdout: '' }))).stdout
    .split('\n')
    .filter((line) => line !== '')
    .map(Number);

/** Each on a connection of its own, so that workers take turns. */
async function ask(
  model: string,
): Promise<{ readonly status: number; readonly code: string | null; readonly retryAfter: string | null }> {
  const headers = { authorization: `Bearer ${SECRET}`, connection: 'close' };
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    signal: AbortSignal.timeout(ASK_MS),
    headers,
    body: JSON.stringify(hello(model)),
  });
  const { error } = (await answer.json()) as { error?: { code: string } };
  return { status: answer.status, code: error?.code ?? null, retryAfter: answer.headers.get('retry-after') };
}
const askFour = (model: string) => Promise.all(Array.from({ length: 4 }, () => ask(model)));

/** On the route at the simulated engine's port, with a key that is sealed as the planner's worker does. */
async function serveAtEngine(modelName: string) {
  const { id } = await claim(ledger, modelName);
  const [gpu = ''] = await gpusOf(ledger);
  const [member = ''] = ledger.members;
  const opened = await ledger.models.openTurn('warm', 2_000);
  if (opened === null || opened === 'missing') throw new Error('no turn');
  const planned = { [`new:${id}/0`]: 10 * 2 ** 30 };
  await opened.commit(emptyTurn({ places: [placeOf(id, member, [gpu])], planned }), (instanceId) =>
    seal.seal(`key of ${instanceId}`, instanceId),
  );
  await opened.close();
  const { id: instanceId } = await engineOf(ledger, id);
  await ledger.models.recordLimits('warm', member, [{ instanceId, limitBytes: 10 * 2 ** 30, kvUsedBytes: 0 }]);
  const { seq } = await orderOf(ledger, id);
  await ledger.models.settleOrder(instanceId, seq, ready({ port: engine.port }));
  return { claimId: id, instanceId };
}

test('a model is served to OpenAI’s client, to curl and to Python as soon as it is on the route, with its engine’s own key', async () => {
  const { instanceId } = await serveAtEngine('chat');
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect((await askFour('chat')).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(engine.requests[0]?.headers.authorization).toBe(`Bearer key of ${instanceId}`);

  const client = new OpenAI({ apiKey: SECRET, baseURL: `${url}/v1`, maxRetries: 0 });
  let text = '';
  const stream = await client.chat.completions.create({ model: 'chat', messages: [], stream: true });
  for await (const part of stream) text += part.choices[0]?.delta.content ?? '';
  expect(text).toBe('four is it');
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['chat']);

  const bearer = `authorization: Bearer ${SECRET}`;
  const json = JSON.stringify(hello('chat'));
  const curl = await run('curl', [
    '-sS',
    '-i',
    '-H',
    bearer,
    '-H',
    'expect: 100-continue',
    '-d',
    json,
    `${url}/v1/completions`,
  ]);
  expect(curl.stdout).toMatch(/HTTP\/1.1 200 OK[\s\S]*x-request-id: req_[\s\S]*"four"/);

  const python = `import json,sys,urllib.request
url,key=sys.argv[1:]
asked=urllib.request.Request(url+"/v1/chat/completions",data=json.dumps({"model":"chat","messages":[],"stream":True}).encode(),headers={"authorization":"Bearer "+key})
print([json.loads(line[6:])["choices"][0]["delta"]["content"] for line in urllib.request.urlopen(asked) if line.startswith(b"data: {")])`;
  const { stdout } = await run('python3', ['-c', python, url, SECRET]);
  expect(stdout).toBe("['four', ' is', ' it']\n");
});

test('a sleeper is answered with 503 by every worker, its wake is in the ledger though Temporal is away', async () => {
  const one = await serveAtEngine('sleeper');
  await putToSleep(ledger, one);
  await new Promise((resolve) => setTimeout(resolve, 200));
  for (const answer of await askFour('sleeper'))
    expect(answer).toMatchObject({
      status: 503,
      code: 'model_asleep',
      retryAfter: expect.stringMatching(/^\d+$/) as string,
    });
  const asked = async () => (await ledger.models.claim(one.claimId, EVERYTHING))?.wakeAskedAt ?? null;
  await eventually('its wake is asked', async () => (await asked()) !== null);
});

test('a lost connection to Postgres is made anew, and what changed meanwhile is known within 2 s', async () => {
  await query(
    ledger,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND pid <> pg_backend_pid()`,
  );
  const { claimId } = await serveAtEngine('meanwhile');
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect((await askFour('meanwhile')).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  await ledger.models.endClaim(claimId, 'admin');
  await new Promise((resolve) => setTimeout(resolve, 300));
  for (const { status } of await askFour('meanwhile')) expect([404, 503]).toContain(status);
});

test('a worker that is killed is replaced, and the other serves; metrics are the sums, usage is told', async () => {
  const before = await workerPids();
  process.kill(before[0] ?? 0, 'SIGKILL');
  await eventually('it is served on', async () => (await ask('chat').catch(() => null))?.status === 200, 30);
  await eventually(
    'there are two again',
    async () => (await workerPids()).filter((pid) => pid !== before[0]).length === 2,
    30,
  );
  await eventually(
    'the sums are served',
    async () => (await (await fetch(metricsUrl)).text()).includes('berth_model_requests_total'),
    30,
  );
  const used = async () => (await ledger.models.usage({ limit: 9 }, EVERYTHING)).items;
  await eventually(
    'usage is told',
    async () => (await used()).some(({ model, promptTokens }) => model === 'chat' && promptTokens > 0),
    30,
  );
});

test('at its end every process of it is gone', async () => {
  const pids = await workerPids();
  await endChild(gateway, 'SIGTERM');
  expect(gateway.exitCode).toBe(0);
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow();
});
