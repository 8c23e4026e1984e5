import { readFileSync } from 'node:fs';
import pg from 'pg';
import { databaseUrl, type Installation, urlsOf } from '../../../src/cli/supervisor/installation.js';
import { healthUrl } from '../../../src/cli/supervisor/probes.js';
import { readInstallation } from '../../../src/cli/supervisor/read-installation.js';
import { readRunStatus } from '../../../src/cli/supervisor/run-status.js';
import { nodeNames, portOf } from '../../../src/cli/supervisor/settings.js';
import { signal, waitForEnd } from '../../../src/platform/process-identity.js';
import { stateDir } from '../../../src/platform/state-dir.js';
import { Client } from '../../../src/sdk/index.js';
import { type LocalBerth, type MoreOfBerth, startBerth } from '../local-berth.js';
import { Engine } from './engine.js';

const GIB = 2 ** 30;
/** Of each node: one given out whole alone, one shared by MPS, one by its driver's limit, and one that is cut in two. */
const GPUS: NonNullable<MoreOfBerth['simulatedGpus']> = [
  { model: 'simulated', memoryBytes: 24 * GIB, count: 1 },
  { model: 'simulated', memoryBytes: 24 * GIB, count: 1, sharing: 'mps' },
  { model: 'simulated', memoryBytes: 24 * GIB, count: 1, sharing: 'memory-limit' },
  {
    model: 'simulated',
    memoryBytes: 24 * GIB,
    count: 1,
    mig: [{ profile: '3g.12gb', memoryBytes: 12 * GIB, count: 2 }],
  },
];
/** Devices of a node that can be given out whole. */
export const WHOLE_GPUS = 3;
/** 40 s would be the usual; the beat comes four times as often. */
export const SILENCE_SECONDS = 6;

export interface TwoNodes {
  readonly berth: LocalBerth;
  readonly client: Client;
  readonly names: readonly [first: string, second: string];
  readonly engine: Engine;
  /** Broken invariants of the ledger, by `/metrics` of the API; empty in a sound one. */
  readonly brokenInvariants: () => Promise<readonly string[]>;
  /** How often a device was promised beyond what it has, at any moment so far. */
  readonly overpromises: () => Promise<number>;
  /** SIGKILL to the second node's agent; it stays away until what is returned is called. */
  readonly killSecondAgent: () => Promise<() => void>;
}

export async function startTwoNodes(name: string): Promise<TwoNodes> {
  const env = { BERTH_NODE_SILENCE_SECONDS: String(SILENCE_SECONDS) };
  const berth = await startBerth(name, 2, { simulatedGpus: GPUS, env });
  const state = stateDir(berth.directory);
  const installation = readInstallation(state, {});
  const token = readFileSync(installation.secrets.bootstrapKeyFile, 'utf8').trim();
  const [first = '', second = ''] = nodeNames(installation.config);
  return {
    berth,
    client: new Client({ baseUrl: urlsOf(installation).api, token }),
    names: [first, second],
    engine: new Engine([first, second]),
    brokenInvariants: () => brokenInvariants(installation),
    overpromises: () => overpromises(databaseUrl(installation)),
    async killSecondAgent() {
      const status = readRunStatus(state);
      const agent = status?.children.find((child) => child.name === 'node-2')?.process;
      if (status === undefined || agent == null) throw new Error('the second agent does not run');
      signal(status.supervisor, 'SIGSTOP');
      signal(agent, 'SIGKILL');
      if (!(await waitForEnd(agent, 30))) throw new Error('the agent outlived SIGKILL');
      return () => signal(status.supervisor, 'SIGCONT');
    },
  };
}

async function brokenInvariants({ config }: Installation): Promise<readonly string[]> {
  const answer = await fetch(healthUrl(portOf(config, 'apiMetrics')).replace('/healthz', '/metrics'));
  const checks = (await answer.text()).split('\n').filter((line) => line.startsWith('berth_ledger_audit{'));
  if (checks.length === 0) throw new Error('/metrics tells of no audit');
  return checks.filter((line) => !line.endsWith(' 0'));
}

/** Looks at each hold's beginning, since only then it can become too much. */
async function overpromises(connectionString: string): Promise<number> {
  const database = new pg.Client({ connectionString });
  await database.connect();
  try {
    const { rows } = await database.query<{ count: number }>(`
      SELECT count(*)::int AS count FROM (
        SELECT a.id FROM device_holds a JOIN device_holds b ON b.node = a.node AND b.device_id = a.device_id
          AND b.created_at <= a.created_at AND a.created_at < coalesce(b.released_at, 'infinity')
        JOIN devices d ON d.node = a.node AND d.id = a.device_id
        GROUP BY a.id, d.memory_bytes, d.sharing
        HAVING count(*) FILTER (WHERE b.memory_bytes IS NULL) > 1
          OR count(*) FILTER (WHERE b.memory_bytes IS NULL) = 1 AND count(b.memory_bytes) > 0
          OR coalesce(sum(b.memory_bytes), 0) > d.memory_bytes
          OR d.sharing = 'mig' AND count(*) > 1) promised`);
    return rows[0]?.count ?? -1;
  } finally {
    await database.end();
  }
}
