import { type ChildProcess, spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { build } from 'esbuild';
import { Agent } from 'undici';
import { cpuUs } from './support/cpu-time.js';
import type { ModelPartOptions } from './support/model-gateway-part.js';
import { startNginx } from './support/nginx.js';
import { atLeastFloor, atMost, atMostFloor, info, median, type Result } from './support/report.js';

/** The gateway with 1000 models, and with 1000 deployments, before a simulated engine, beside a bare undici proxy that only parses the model's name. */
const CONNECTIONS = 32;
/** Short and many: what else the machine does falls on all ways alike. */
const SECONDS = 2;
const ROUNDS = 7;
/** Requests until a way's code is compiled. */
const WARM_UP = 10_000;
const ROUTES = 1_000;
const SINGLES = 1_500;
const STREAMS = 1_000;
const STREAMS_SECONDS = 3;
const SHARE = 0.7;
const PART = join(import.meta.dirname, 'support/model-gateway-part.ts');
/** Inside the project, where its packages are found. */
const BUILT = join(import.meta.dirname, '../../test-results/bench/model-gateway-part.mjs');
const PATH = '/v1/chat/completions';
const HEADERS = { 'content-type': 'application/json', authorization: 'Bearer berth_bench' };
const message = { role: 'user', content: 'What is the capital of the country where this machine stands?' };
const bodyOf = (more: object = {}): string => JSON.stringify({ model: 'model-7', messages: [message], ...more });

interface Part {
  readonly port: number;
  readonly pid: number;
  readonly path?: string;
}

export async function run(): Promise<Result> {
  const children: ChildProcess[] = [];
  await buildPart();
  const start = async (role: ModelPartOptions['role'], enginePort = 0): Promise<Part> => {
    const env = { ...process.env, MODEL_GATEWAY_PART: JSON.stringify({ role, enginePort, routes: ROUTES }) };
    const child = spawn(process.execPath, [BUILT], {
      env,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    children.push(child);
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${role} ended`)));
    const [{ port }] = (await Promise.race([once(child, 'message'), ended])) as [{ port: number }];
    ended.catch(() => undefined);
    return { port, pid: child.pid ?? 0 };
  };
  try {
    const engine = await start('engine');
    const nginx = await startNginx(engine.port);
    if (nginx !== null) children.push(nginx.child);
    const [bare, gateway] = [await start('bare', engine.port), await start('gateway', engine.port)];
    const deployments = await start('deployments', engine.port);
    const ways = {
      bare,
      gateway,
      deployments,
      endpoint: { ...deployments, path: `/deployments/deployment-7${PATH}` },
      ...(nginx === null ? {} : { nginx: { port: nginx.port, pid: nginx.child.pid ?? 0 } }),
    };
    const rates = await measureRates(ways);
    const added = await measureAdded(engine.port, gateway.port);
    const memoryMb = await measureStreams(gateway);
    return report({ rates, added, memoryMb, hasNginx: nginx !== null });
  } finally {
    for (const child of children) child.kill('SIGTERM');
  }
}

/** As `npm run build` does: what runs sources names every function anew at each call, and the processes would be measured by that. */
async function buildPart(): Promise<void> {
  const how = { bundle: true, platform: 'node', target: 'node20.19', format: 'esm', packages: 'external' } as const;
  await build({ ...how, entryPoints: [PART], outfile: BUILT, logLevel: 'warning' });
}

interface Rates {
  readonly requests: Readonly<Record<string, readonly number[]>>;
  readonly p99Ms: Readonly<Record<string, readonly number[]>>;
  readonly cpuUs: Readonly<Record<string, readonly number[]>>;
}

async function measureRates(ways: Readonly<Record<string, Part>>): Promise<Rates> {
  const rates = { requests: {}, p99Ms: {}, cpuUs: {} } as Record<keyof Rates, Record<string, number[]>>;
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, { port, pid, path = PATH }] of Object.entries(ways)) {
      const before = cpuUs(pid);
      const got = await autocannon({
        ...{
          url: `http://127.0.0.1:${port}${path}`,
          connections: CONNECTIONS,
          ...(round === 0 ? { amount: WARM_UP } : { duration: SECONDS }),
        },
        ...{ method: 'POST', headers: HEADERS, body: bodyOf() },
      });
      if (got.non2xx > 0 || got.errors > 0) throw new Error(`${name}: ${got.non2xx} refused, ${got.errors} failed`);
      if (round === 0) continue; // it warms up
      (rates.requests[name] ??= []).push(got.requests.average);
      (rates.p99Ms[name] ??= []).push(got.latency.p99);
      (rates.cpuUs[name] ??= []).push((cpuUs(pid) - before) / got.requests.total);
    }
  }
  return rates;
}

interface Added {
  readonly whole: { readonly direct: number; readonly gateway: number };
  readonly firstByte: { readonly direct: number; readonly gateway: number };
}

/** One request at a time, directly and through the gateway in turn: medians in ms. */
async function measureAdded(enginePort: number, gatewayPort: number): Promise<Added> {
  const agent = new Agent({ pipelining: 1 });
  const pair = async (body: string): Promise<Added['whole']> => {
    const took = { direct: [] as number[], gateway: [] as number[] };
    for (let count = 0; count < SINGLES; count += 1) {
      took.direct.push(await untilFirstByte(agent, enginePort, body));
      took.gateway.push(await untilFirstByte(agent, gatewayPort, body));
    }
    return { direct: median(took.direct), gateway: median(took.gateway) };
  };
  const added = { whole: await pair(bodyOf()), firstByte: await pair(bodyOf({ stream: true })) };
  await agent.close();
  return added;
}

async function untilFirstByte(agent: Agent, port: number, body: string): Promise<number> {
  const startedMs = performance.now();
  const answer = await agent.request({
    origin: `http://127.0.0.1:${port}`,
    path: PATH,
    method: 'POST',
    headers: HEADERS,
    body,
  });
  let tookMs = Number.NaN;
  for await (const _part of answer.body) if (Number.isNaN(tookMs)) tookMs = performance.now() - startedMs;
  return tookMs;
}

/** What the gateway's process takes while so many streams are open and each gets a chunk in 100 ms. */
async function measureStreams({ port, pid }: Part): Promise<number> {
  const agent = new Agent({ pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const leave = new AbortController();
  setMaxListeners(STREAMS + 1, leave.signal);
  const body = bodyOf({ stream: true, user: 'slow' });
  const streams = Array.from({ length: STREAMS }, async () => {
    const options = { origin: `http://127.0.0.1:${port}`, path: PATH, method: 'POST', headers: HEADERS, body } as const;
    const answer = await agent.request({ ...options, signal: leave.signal });
    answer.body.on('error', () => undefined).resume();
  });
  await Promise.all(streams);
  await new Promise((resolve) => setTimeout(resolve, STREAMS_SECONDS * 1_000));
  const kib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  leave.abort();
  await agent.destroy();
  return kib / 1_024;
}

interface Measured {
  readonly rates: Rates;
  readonly added: Added;
  readonly memoryMb: number;
  readonly hasNginx: boolean;
}

function report({ rates, added, memoryMb, hasNginx }: Measured): Result {
  const of = (figures: Rates[keyof Rates], name: string): number => median(figures[name] ?? []);
  const [bare, gateway] = [of(rates.requests, 'bare'), of(rates.requests, 'gateway')];
  const unit = 'requests/s';
  const p99 = { name: 'p99', measured: of(rates.p99Ms, 'gateway'), floor: of(rates.p99Ms, 'bare'), unit: 'ms' };
  const { whole, firstByte } = added;
  const rows = [
    atLeastFloor({ name: 'requests, no stream', measured: gateway, floor: bare, unit }, SHARE),
    atLeastFloor(
      { name: 'of deployments by name', measured: of(rates.requests, 'deployments'), floor: bare, unit },
      SHARE,
    ),
    info({ name: "at deployments' endpoints", measured: of(rates.requests, 'endpoint'), floor: bare, unit }),
    atMostFloor(p99, { times: 2 }),
    atMostFloor({ ...p99, name: 'p99 of deployments', measured: of(rates.p99Ms, 'deployments') }, { times: 2 }),
    atMostFloor({ name: 'latency p50', measured: whole.gateway, floor: whole.direct, unit: 'ms' }, { extra: 1 }),
    atMostFloor(
      { name: 'first streamed byte p50', measured: firstByte.gateway, floor: firstByte.direct, unit: 'ms' },
      { extra: 2 },
    ),
    atMost({ name: `memory, ${STREAMS} streams`, measured: memoryMb, unit: 'MB' }, 300),
    info({ name: 'CPU a request', measured: of(rates.cpuUs, 'gateway'), floor: of(rates.cpuUs, 'bare'), unit: 'µs' }),
    ...(hasNginx ? [info({ name: 'nginx', measured: of(rates.requests, 'nginx'), floor: bare, unit })] : []),
  ];
  const how = `${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s in turn, medians; ${ROUTES} models, ${ROUTES} deployments; keys, usage, metrics and access log on; the floor of requests is a bare undici proxy, of latencies the engine itself`;
  return { name: 'model-gateway', rows, notes: [how, ...(hasNginx ? [] : ['nginx is not installed'])] };
}
