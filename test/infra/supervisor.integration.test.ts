import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { down } from '../../src/cli/supervisor/down.js';
import { connectionUrl, readPostmaster } from '../../src/cli/supervisor/postgres-cluster.js';
import { type RunStatus, readRunStatus } from '../../src/cli/supervisor/run-status.js';
import { status } from '../../src/cli/supervisor/status.js';
import { type UpOutcome, up } from '../../src/cli/supervisor/up.js';
import { isRunning } from '../../src/platform/process-identity.js';
import { type StateDir, stateDir } from '../../src/platform/state-dir.js';
import { eventually } from '../support/process.js';

const ROOT = join(import.meta.dirname, '../..');
const FIXTURE = join(ROOT, 'dist/test/supervise.js');

let state: StateDir;

beforeAll(async () => {
  const entryPoints = [join(import.meta.dirname, 'fixtures/supervise.ts')];
  await build({ entryPoints, outfile: FIXTURE, bundle: true, packages: 'external', platform: 'node', format: 'esm' });
});

beforeEach(() => {
  state = stateDir(mkdtempSync(join(tmpdir(), 'berth-supervisor-')));
});

afterEach(async () => {
  await down(state);
  rmSync(state.root, { recursive: true, force: true });
});

const bringUp = (...more: string[]): Promise<UpOutcome> =>
  up({
    stateRoot: state.root,
    flags: {},
    wantsUsualPorts: false,
    timeoutSeconds: 60,
    supervisorCommand: [process.execPath, FIXTURE, ...more],
    onProgress: () => undefined,
  });

async function started(...more: string[]): Promise<RunStatus> {
  const outcome = await bringUp(...more);
  if (outcome.kind === 'failed') throw new Error(outcome.problem);
  return outcome.status;
}

function processOf(run: RunStatus | undefined, name: string) {
  const identity = run?.children.find((child) => child.name === name)?.process;
  if (identity === undefined || identity === null) throw new Error(`${name} does not run`);
  return identity;
}

const restartsOf = (name: string) => readRunStatus(state)?.children.find((child) => child.name === name)?.restarts;

const isBackUp = (name: string, restarts: number) => () => {
  const child = readRunStatus(state)?.children.find((one) => one.name === name);
  return child?.state === 'ready' && child.restarts >= restarts;
};

describe('the supervisor', () => {
  test('starts all, and a second up changes nothing', async () => {
    const first = await started();
    const second = await bringUp();
    expect(second).toMatchObject({ kind: 'already-running', status: { supervisor: first.supervisor } });
    expect((await status(state)).processes.map(({ name, state: now }) => [name, now])).toEqual([
      ['api', 'ready'],
      ['node', 'ready'],
      ['storage', 'ready'],
    ]);
  });

  test('two ups at once make one supervisor', async () => {
    const outcomes = await Promise.all([bringUp(), bringUp()]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['already-running', 'started']);
  });

  test('restarts a child that was killed, and counts it', async () => {
    const run = await started();
    process.kill(processOf(run, 'node').pid, 'SIGKILL');
    await eventually('node is back', isBackUp('node', 1));
    process.kill(processOf(readRunStatus(state), 'node').pid, 'SIGKILL');
    await eventually('node is back again', isBackUp('node', 2));
    expect(restartsOf('api')).toBe(0);
  });

  test('stops in order, kills the deaf one after its grace, and a second down does nothing', async () => {
    const run = await started();
    expect(await down(state)).toEqual(['api stopped', 'node stopped', 'storage stopped', 'supervisor stopped']);
    expect(run.children.filter((child) => child.process !== null && isRunning(child.process))).toEqual([]);
    expect(await down(state)).toEqual([]);
    expect((await status(state)).phase).toBe('stopped');
  });

  test('killed with -9, leaves children that end by themselves, and the next up starts again on the same ports', async () => {
    const before = await started();
    const config = readFileSync(state.configFile, 'utf8');
    process.kill(before.supervisor.pid, 'SIGKILL');
    await eventually('children end', () => !before.children.some(({ process: one }) => one !== null && isRunning(one)));
    expect((await status(state)).supervisor_pid).toBeNull();
    await started();
    expect(readFileSync(state.configFile, 'utf8')).toBe(config);
  });

  test('keeps secrets and configuration from other users', async () => {
    await started();
    for (const file of [
      state.configFile,
      join(state.secretsDir, 'sealing-key'),
      join(state.secretsDir, 'node-token'),
    ]) {
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
    expect(statSync(state.secretsDir).mode & 0o777).toBe(0o700);
  });

  test('says why the supervisor itself could not start', async () => {
    const outcome = await up({
      ...{ stateRoot: state.root, flags: {}, wantsUsualPorts: false, timeoutSeconds: 20 },
      supervisorCommand: ['/bin/sh', '-c', 'echo no such thing; exit 3'],
      onProgress: () => undefined,
    });
    expect(outcome).toMatchObject({ kind: 'failed', problem: expect.stringContaining('no such thing') as string });
  });
});

describe('Postgres and Temporal under the supervisor', () => {
  test('outlive its kill -9 and are taken over, and are ended by down', async () => {
    const before = await started('--engines');
    process.kill(before.supervisor.pid, 'SIGKILL');
    await eventually('the supervisor is gone', () => !isRunning(before.supervisor));
    expect((await status(state)).phase).toBe('supervisor-lost');
    const after = await started('--engines');
    for (const name of ['postgres', 'temporal']) {
      expect(processOf(after, name)).toEqual(processOf(before, name));
      expect(after.children.find((child) => child.name === name)?.isAdopted).toBe(true);
    }
    process.kill(processOf(after, 'postgres').pid, 'SIGKILL');
    await eventually('Postgres is back', isBackUp('postgres', 1));
    process.kill(processOf(after, 'temporal').pid, 'SIGKILL');
    await eventually('Temporal is back', isBackUp('temporal', 1));
    const last = readRunStatus(state);
    expect((await down(state)).slice(-3)).toEqual(['temporal stopped', 'postgres stopped', 'supervisor stopped']);
    expect(isRunning(processOf(last, 'postgres')) || isRunning(processOf(last, 'temporal'))).toBe(false);
  });

  test('do not wait for clients that stay: a Postgres that somebody else tells to end is started again', async () => {
    const run = await started('--engines');
    const port = readPostmaster(state.postgresDir)?.port ?? 0;
    const password = readFileSync(join(state.secretsDir, 'postgres-password'), 'utf8').trim();
    const client = new pg.Client({ connectionString: connectionUrl(port, password) });
    client.on('error', () => undefined);
    await client.connect();
    process.kill(processOf(run, 'postgres').pid, 'SIGTERM');
    await eventually('Postgres is back', isBackUp('postgres', 1));
  });

  test('are ended by down also after the supervisor was killed', async () => {
    const before = await started('--engines');
    process.kill(before.supervisor.pid, 'SIGKILL');
    await eventually('the supervisor is gone', () => !isRunning(before.supervisor));
    const lines = await down(state);
    expect(lines.filter((line) => line.startsWith('temporal') || line.startsWith('postgres'))).toHaveLength(2);
    expect(before.children.filter((child) => child.process !== null && isRunning(child.process))).toEqual([]);
  });
});
