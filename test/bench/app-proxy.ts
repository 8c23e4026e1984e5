import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { exportJWK, generateKeyPair } from 'jose';
import { createAppCookies } from '../../src/gateway/app-cookies.js';
import { appOrigin } from '../../src/platform/app-origin.js';
import { createTokenSigner } from '../../src/platform/tokens.js';
import type { PartOptions } from './support/app-proxy-part.js';
import { startNginx } from './support/nginx.js';
import { atLeastFloor, info, median, type Result } from './support/report.js';

/** Requests of 1 KiB answers through the gateway and an agent's port, beside a bare Node proxy before the same app. */
const CONNECTIONS = 32;
const SECONDS = 4;
const ROUNDS = 3;
const SHARE = 0.7;
const PART = join(import.meta.dirname, 'support/app-proxy-part.ts');
const APPS_URL = 'http://apps.localhost:8084';
const SESSION_ID = `ses_0${'0'.repeat(25)}` as Parameters<typeof appOrigin>[1];

export async function run(): Promise<Result> {
  const children: ChildProcess[] = [];
  const keys = await generateKeyPair('ES256', { extractable: true });
  const privateKey = { ...(await exportJWK(keys.privateKey)), kid: 'bench' };
  const publicKey = { ...(await exportJWK(keys.publicKey)), kid: 'bench', alg: 'ES256' };
  const pids = new Map<string, number>();
  const part = async (role: PartOptions['role'], ports: Partial<PartOptions> = {}): Promise<number> => {
    const options = { role, appPort: 0, agentPort: 0, privateKey, publicKey, ...ports };
    const env = { ...process.env, APP_PROXY_PART: JSON.stringify(options) };
    const child = spawn(process.execPath, ['--import', 'tsx', PART], {
      env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    children.push(child);
    pids.set(role, child.pid ?? 0);
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return port;
  };
  const cookies = createAppCookies({
    signer: await createTokenSigner(privateKey),
    verifyKeys: { keys: [publicKey] },
    isSecure: false,
  });
  const userId = `usr_0${'0'.repeat(25)}` as never;
  const cookie = await cookies.issue({ sessionId: SESSION_ID, port: 'http', right: 'owner', userId, link: null });
  const headers = {
    host: new URL(appOrigin(APPS_URL, SESSION_ID, { name: 'http', containerPort: 1 })).host,
    cookie: cookie.split(';', 1)[0] ?? '',
  };
  try {
    const appPort = await part('app');
    const agentPort = await part('agent', { appPort });
    const nginx = await startNginx(appPort);
    if (nginx !== null) children.push(nginx.child);
    const ports = {
      bare: await part('bare', { appPort }),
      gateway: await part('gateway', { appPort, agentPort }),
      ...(nginx === null ? {} : { nginx: nginx.port }),
    };
    const cpuOf = { bare: [pids.get('bare') ?? 0], gateway: [pids.get('gateway') ?? 0, pids.get('agent') ?? 0] };
    return report(await measure({ ports, headers, cpuOf }));
  } finally {
    for (const child of children) child.kill('SIGTERM');
  }
}

interface Setting {
  readonly ports: Readonly<Record<string, number>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The processes whose CPU time a way costs. */
  readonly cpuOf: Readonly<Record<string, readonly number[]>>;
}
interface Rates {
  readonly requests: Readonly<Record<string, readonly number[]>>;
  /** Microseconds a request, of all its processes. */
  readonly cpu: Readonly<Record<string, readonly number[]>>;
}

const TICK_US = 10_000;

/** User and system time so far, from /proc, in microseconds. */
function cpuUs(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, one) => sum + one, 0) * TICK_US;
}

async function measure({ ports, headers, cpuOf }: Setting): Promise<Rates> {
  const requests: Record<string, number[]> = {};
  const cpu: Record<string, number[]> = {};
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, port] of Object.entries(ports)) {
      const duration = round === 0 ? 1 : SECONDS; // the first round warms up
      const before = cpuUs(cpuOf[name] ?? []);
      const got = await autocannon({ url: `http://127.0.0.1:${port}/`, connections: CONNECTIONS, duration, headers });
      if (got.non2xx > 0 || got.errors > 0) throw new Error(`${name}: ${got.non2xx} refused, ${got.errors} failed`);
      if (round === 0) continue;
      requests[name] = [...(requests[name] ?? []), got.requests.average];
      const used = cpuUs(cpuOf[name] ?? []) - before;
      cpu[name] = [...(cpu[name] ?? []), used / got.requests.total];
    }
  }
  return { requests, cpu };
}

function report({ requests: { bare = [], gateway = [], nginx }, cpu }: Rates): Result {
  const unit = 'requests/s';
  const rows = [
    atLeastFloor({ name: 'gateway and agent', measured: median(gateway), floor: median(bare), unit }, SHARE),
    ...(nginx === undefined ? [] : [info({ name: 'nginx', measured: median(nginx), floor: median(bare), unit })]),
  ];
  const spent = { name: 'CPU a request', measured: median(cpu['gateway'] ?? []), floor: median(cpu['bare'] ?? []) };
  rows.push(info({ ...spent, unit: 'µs' }));
  const how = `${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s in turn, medians; the floor is a bare Node proxy before the same app`;
  return { name: 'app-proxy', rows, notes: [how, ...(nginx === undefined ? ['nginx is not installed'] : [])] };
}
