import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { WorkerName } from '../../../src/cli/supervisor/environments.js';
import { workerArguments } from '../../../src/cli/supervisor/programs.js';
import { ensureSecrets } from '../../../src/cli/supervisor/secrets.js';
import type { Principal } from '../../../src/contract/index.js';
import { ensureStateDir } from '../../../src/platform/state-dir.js';
import { hashSecret } from '../../../src/platform/tokens.js';
import { Client } from '../../../src/sdk/index.js';
import { createStore } from '../../../src/store/create-store.js';
import type { Store } from '../../../src/store/store.js';
import { connectTemporal } from '../../../src/temporal/connect.js';
import { createTemporalDoor } from '../../../src/temporal/create-temporal-door.js';
import type { TemporalDoor } from '../../../src/temporal/door.js';
import { startTestPostgres } from '../../support/postgres.js';
import { endChild, eventually, freePort, spawnTied } from '../../support/process.js';
import { startTestTemporal } from '../../support/temporal.js';
import { cpuUs } from './cpu-time.js';

const ROOT = join(import.meta.dirname, '../../..');
const GIB = 2 ** 30;

/** Builds `dist` when its sources changed. */
export function ensureBuilt(): void {
  const { status } = spawnSync(process.execPath, [join(ROOT, 'infra/ensure-built.mjs')], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('the build failed');
}

export interface PlantOptions {
  /** Of its node n1. */
  readonly cpus: number;
  readonly gpus: number;
  /** Cores of each further one, by name. */
  readonly further?: Readonly<Record<string, number>>;
  readonly gateway?: boolean;
}

/**
 * Berth as real child processes of the build (control worker, API, agents with the instant runtime, a gateway if asked for) on a
 * Postgres and a Temporal of its own, the latter on a file as `berth up` has it.
 */
export interface Plant {
  readonly api: Client;
  readonly apiUrl: string;
  readonly apiKey: string;
  /** Of no use without `gateway`. */
  readonly gatewayUrl: string;
  readonly store: Store;
  readonly door: TemporalDoor;
  readonly admin: Principal;
  /** One number from the ledger. */
  count(sql: string, ...values: readonly unknown[]): Promise<number>;
  readonly temporal: { readonly address: string; readonly namespace: string };
  readonly client: ReturnType<typeof connectTemporal>['client'];
  readonly logsDir: string;
  /** Resident memory of the control worker, now and at its peak. */
  controlMemoryBytes(): { readonly now: number; readonly peak: number };
  /** User and system time of the control worker so far. */
  controlCpuSeconds(): number;
  /** SIGKILL, and its next start after the supervisor's pause. */
  killControl(): Promise<void>;
  /** SIGKILL: its containers are gone with it. */
  killNode(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** Of each agent its own, below what the system hands out. */
const PORTS_FIRST = 20_000;
const PORTS_EACH = 1_000;
/** As src/cli/supervisor/managed-child.ts does. */
const RESTART_MS = 500;

export async function startPlant({ cpus, gpus, further = {}, gateway = false }: PlantOptions): Promise<Plant> {
  ensureBuilt();
  process.setMaxListeners(32); // each child is ended with this process
  const state = ensureStateDir(mkdtempSync(join(tmpdir(), 'berth-bench-')));
  const secrets = ensureSecrets(state);
  const [postgres, temporal] = await Promise.all([startTestPostgres(), startTestTemporal({ onFile: true })]);
  const [apiPort, gatewayPort] = [await freePort(), await freePort()];
  const [apiUrl, gatewayUrl] = [`http://127.0.0.1:${apiPort}`, `http://127.0.0.1:${gatewayPort}`];
  const apiKey = readFileSync(secrets.bootstrapKeyFile, 'utf8').trim();
  const nodes = Object.entries({ n1: cpus, ...further });
  const tokenOf = (name: string) => (name === 'n1' ? secrets.nodeToken : `${secrets.nodeToken}-${name}`);
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    BERTH_LOG_LEVEL: 'warn',
    BERTH_TEMPORAL_ADDRESS: temporal.address,
    BERTH_BUILD_ID: 'bench',
    BERTH_NODE_NAME: 'n1',
    BERTH_NODE_TOKEN: secrets.nodeToken,
    BERTH_API_URL: apiUrl,
    BERTH_VOLUMES: '{}',
    BERTH_VERIFY_KEY_FILE: secrets.verifyKeyFile,
    BERTH_APPS_URL: `http://apps.localhost:${gatewayPort}`,
    BERTH_SEALING_KEY_FILE: secrets.sealingKeyFile,
    BERTH_SIGNING_KEY_FILE: secrets.signingKeyFile,
  };
  const children = new Map<string, ChildProcess>();
  const start = (name: string, own: NodeJS.ProcessEnv, program = name as WorkerName): void => {
    const log = openSync(join(state.logsDir, `${name}.log`), 'a');
    const args = workerArguments(program, own);
    const stdio = ['ignore', log, log] as const;
    children.set(name, spawnTied(process.execPath, args, { env: { ...env, ...own }, stdio: [...stdio] }));
  };
  const kill = async (name: string): Promise<void> => {
    const child = children.get(name);
    if (child !== undefined) await endChild(child, 'SIGKILL');
  };
  const startControl = () => start('control', { DATABASE_URL: postgres.url });
  const startNode = async (at: number, [name, cores]: readonly [string, number]): Promise<void> => {
    const port = await freePort();
    const first = PORTS_FIRST + at * PORTS_EACH;
    const simulated = gpus === 0 ? [] : [{ model: 'sim-24', memoryBytes: 24 * GIB, count: gpus }];
    const own = {
      BERTH_NODE_NAME: name,
      BERTH_NODE_TOKEN: tokenOf(name),
      BERTH_NODE_RUNTIME: 'instant',
      BERTH_NODE_PORT: String(port),
      BERTH_NODE_ADDRESS: `http://127.0.0.1:${port}`,
      BERTH_NODE_CPUS: String(cores),
      BERTH_NODE_MEMORY_BYTES: String(cores * 4 * GIB),
      BERTH_SIMULATED_GPUS: JSON.stringify(simulated),
      BERTH_NODE_STATE: join(state.nodesDir, name),
      BERTH_PORT_RANGE: `${first}-${first + PORTS_EACH - 1}`,
    };
    start(name, own, 'node');
  };
  startControl();
  start('api', {
    DATABASE_URL: postgres.url,
    BERTH_API_PORT: String(apiPort),
    BERTH_STORAGE_URL: 'http://127.0.0.1:9',
    BERTH_GATEWAY_URL: gatewayUrl,
    BERTH_BOOTSTRAP_KEY_FILE: secrets.bootstrapKeyFile,
    BERTH_FURTHER_NODES: JSON.stringify(Object.keys(further).map((name) => ({ name, token: tokenOf(name) }))),
  });
  if (gateway) start('gateway', { DATABASE_URL: postgres.url, BERTH_GATEWAY_PORT: String(gatewayPort) });
  for (const [at, node] of nodes.entries()) await startNode(at, node);
  const pool = new pg.Pool({ connectionString: postgres.url, max: 2 });
  const store = createStore({ connectionString: postgres.url, poolSize: 8 });
  const address = { address: temporal.address, namespace: temporal.namespace };
  const door = createTemporalDoor(address);
  const { client, connection } = connectTemporal(address);
  const sdk = new Client({ baseUrl: apiUrl, token: apiKey });
  for (const [name] of nodes) {
    const isReady = async () => (await sdk.nodes.get(name)).state === 'READY';
    await eventually(`${name} is ready`, () => isReady().catch(() => false), 120);
  }
  const admin = await store.tenancy.authenticate(hashSecret(apiKey));
  if (admin === null) throw new Error('the first key is not known');
  return {
    ...{ api: sdk, apiUrl, apiKey, gatewayUrl, store, door, admin, temporal: address, client },
    count: async (sql, ...values) => Number((await pool.query<{ count: string }>(sql, [...values])).rows[0]?.count),
    logsDir: state.logsDir,
    controlMemoryBytes: () => memoryOf(children.get('control')?.pid ?? 0),
    controlCpuSeconds: () => cpuUs(children.get('control')?.pid ?? 0) / 1e6,
    async killControl() {
      await kill('control');
      setTimeout(startControl, RESTART_MS);
    },
    killNode: kill,
    async stop() {
      await Promise.all([...children.keys()].map(kill));
      await door.close();
      await connection.close();
      await store.close();
      await pool.end();
      await Promise.all([temporal.stop(), postgres.stop()]);
      rmSync(state.root, { recursive: true, force: true });
    },
  };
}

/** `setpriv` replaces itself by the program, so the child's pid is the program's. */
export function memoryOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return { now: bytes('VmRSS'), peak: bytes('VmHWM') };
}

/** From start to exit, in milliseconds; throws when the program fails. */
export async function runTimed(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const begun = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'], env });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}`);
  return performance.now() - begun;
}
