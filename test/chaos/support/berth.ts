import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildStatus } from '../../../src/cli/supervisor/child-spec.js';
import { down } from '../../../src/cli/supervisor/down.js';
import { databaseUrl, type Installation, urlsOf } from '../../../src/cli/supervisor/installation.js';
import { packageRoot } from '../../../src/cli/supervisor/programs.js';
import { readInstallation } from '../../../src/cli/supervisor/read-installation.js';
import { readRunStatus } from '../../../src/cli/supervisor/run-status.js';
import { nodeNames } from '../../../src/cli/supervisor/settings.js';
import { isRunning, type ProcessIdentity, signal, waitForEnd } from '../../../src/platform/process-identity.js';
import { type StateDir, stateDir } from '../../../src/platform/state-dir.js';
import { Client } from '../../../src/sdk/index.js';
import { createStore } from '../../../src/store/create-store.js';
import type { Store } from '../../../src/store/store.js';
import { removeContainers } from '../../support/docker.js';
import { eventually, freePort } from '../../support/process.js';
import type { PrivateEngine } from './private-engine.js';

export type Part = 'postgres' | 'temporal' | 'api' | 'node' | 'storage' | 'gateway' | 'control-1' | 'node-2';

/** Of one session and the engines of a pool. */
const HOST_PORTS = 12;
/** Where there is a second node that may be lost: 40 s would be the usual. */
const SILENCE_SECONDS = 16;

/** A `berth up` of the test's own: 4 CPUs, 4 simulated GPUs of 24 GiB, one control worker, some host ports. Agents look at engines each second. */
export interface Berth {
  readonly state: StateDir;
  readonly node: string;
  /** All of its nodes: the first one has the part `node`, the second one `node-2`. */
  readonly nodes: readonly string[];
  /** The whole BERTH_PORT_RANGE. */
  readonly hostPorts: readonly number[];
  /** Its own; undefined for the machine's. */
  readonly engine: PrivateEngine | undefined;
  /** Tries again for a minute: a call of it outlives the kill of any process. */
  readonly client: Client;
  readonly apiUrl: string;
  readonly gatewayUrl: string;
  readonly token: string;
  readonly databaseUrl: string;
  /** The ledger, read past the API. */
  readonly store: Store;
  readonly env: NodeJS.ProcessEnv;
  /** Signals the process at once; resolves when it is gone. */
  kill(part: Part, name?: NodeJS.Signals): Promise<void>;
  /** The supervisor has started it again, and it serves. */
  back(part: Part): Promise<void>;
  /** Nothing that dies is started again until what is returned is called. */
  freezeSupervisor(): () => void;
  killSupervisor(): Promise<void>;
  up(): Promise<void>;
  /** `keep` leaves the state directory, for the logs. */
  end(options?: { readonly keep?: boolean }): Promise<void>;
}

const BERTH = join(packageRoot(), 'dist', 'berth.js');
const UP = ['--control-workers', '1', '--cpus', '4', '--memory', '8Gi', '--simulated-gpus', '4', '--timeout', '180'];

/** Runs the built program to its end. Throws with what it said when it fails. */
async function berthCommand(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(process.execPath, [BERTH, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`berth ${args[0]} ended with ${code}: ${output}`);
}

function childOf(state: StateDir, part: Part): ChildStatus {
  const child = readRunStatus(state)?.children.find(({ name }) => name === part);
  if (child === undefined) throw new Error(`no process ${part} in ${state.root}`);
  return child;
}

function identityOf(state: StateDir, part: Part): ProcessIdentity {
  const { process: identity } = childOf(state, part);
  if (identity === null) throw new Error(`${part} does not run`);
  return identity;
}

const supervisorOf = (state: StateDir): ProcessIdentity => {
  const status = readRunStatus(state);
  if (status === undefined) throw new Error(`no supervisor in ${state.root}`);
  return status.supervisor;
};

const patientClient = (baseUrl: string, token: string): Client =>
  new Client({ baseUrl, token, retries: { triesMax: 90, delayMillisecondsMax: 1_000 } });

export async function startBerth({
  engine,
  nodes = 1,
}: {
  engine?: PrivateEngine;
  nodes?: 1 | 2;
} = {}): Promise<Berth> {
  const state = stateDir(mkdtempSync(join(tmpdir(), 'berth-chaos-')));
  const firstPort = await freePort();
  const hostPorts = Array.from({ length: HOST_PORTS }, (_, index) => firstPort + index);
  const { DATABASE_URL: _database, BERTH_TEMPORAL_ADDRESS: _temporal, ...outer } = process.env;
  const env = {
    ...outer,
    BERTH_PORT_RANGE: `${firstPort}-${firstPort + HOST_PORTS - 1}`,
    BERTH_ENGINE_LOOK_SECONDS: '1',
    ...(engine !== undefined && { DOCKER_HOST: engine.host }),
    ...(nodes > 1 && { BERTH_NODE_SILENCE_SECONDS: String(SILENCE_SECONDS) }),
  };
  const up = () => berthCommand(['up', '--state', state.root, '--nodes', String(nodes), ...UP], env);
  try {
    await up();
    return handleOf({ state, hostPorts, engine, env, up });
  } catch (error) {
    await down(state);
    throw error;
  }
}

type Started = Pick<Berth, 'state' | 'hostPorts' | 'engine' | 'env' | 'up'>;

function handleOf(started: Started): Berth {
  const { state } = started;
  const installation: Installation = readInstallation(state, {});
  const { api: apiUrl, gateway: gatewayUrl } = urlsOf(installation);
  const token = readFileSync(installation.secrets.bootstrapKeyFile, 'utf8').trim();
  const url = databaseUrl(installation);
  const store = createStore({ connectionString: url });
  const nodes = nodeNames(installation.config);
  return {
    ...started,
    node: installation.config.node.name,
    nodes,
    client: patientClient(apiUrl, token),
    apiUrl,
    gatewayUrl,
    token,
    databaseUrl: url,
    store,
    async kill(part, name = 'SIGKILL') {
      const identity = identityOf(state, part);
      signal(identity, name);
      if (!(await waitForEnd(identity, 60))) throw new Error(`${part} outlived ${name} by 60 s`);
    },
    async back(part) {
      await eventually(
        `${part} is back`,
        () => {
          const child = childOf(state, part);
          return child.state === 'ready' && child.process !== null && isRunning(child.process);
        },
        90,
      );
    },
    freezeSupervisor() {
      const supervisor = supervisorOf(state);
      signal(supervisor, 'SIGSTOP');
      return () => signal(supervisor, 'SIGCONT');
    },
    async killSupervisor() {
      const supervisor = supervisorOf(state);
      signal(supervisor, 'SIGKILL');
      await waitForEnd(supervisor, 30);
    },
    async end({ keep = false } = {}) {
      await store.close();
      signal(supervisorOf(state), 'SIGCONT');
      await down(state);
      // only a case that failed leaves any
      if (started.engine === undefined) for (const node of nodes) await removeContainers(`berth.node=${node}`);
      if (!keep) rmSync(state.root, { recursive: true, force: true });
    },
  };
}
