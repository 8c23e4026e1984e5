import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { doctor } from '../../src/cli/supervisor/doctor.js';
import { down } from '../../src/cli/supervisor/down.js';
import { readRunStatus } from '../../src/cli/supervisor/run-status.js';
import { status } from '../../src/cli/supervisor/status.js';
import { up } from '../../src/cli/supervisor/up.js';
import { readConfigFile } from '../../src/platform/config-file.js';
import { isRunning } from '../../src/platform/process-identity.js';
import { stateDir } from '../../src/platform/state-dir.js';
import { connectTemporal } from '../../src/temporal/connect.js';
import { eventually } from '../support/process.js';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAM = join(ROOT, 'dist/test/berth.js');
const state = stateDir(mkdtempSync(join(tmpdir(), 'berth-up-')));

const bringUp = () =>
  up({
    stateRoot: state.root,
    flags: { controlWorkers: 2, cpus: 4, simulatedGpus: 4 },
    wantsUsualPorts: false,
    timeoutSeconds: 180,
    supervisorCommand: [process.execPath, PROGRAM, 'supervise'],
    onProgress: () => undefined,
  });

async function run(command: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, command, { cwd: ROOT, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

const portsOf = () => readConfigFile(state.configFile)?.ports ?? {};
const failures = async () => (await doctor(state, process.env)).filter(({ verdict }) => verdict === 'fail');

beforeAll(async () => {
  expect(await run([join(ROOT, 'infra/ensure-built.mjs')])).toBe(0);
  const entryPoints = [join(import.meta.dirname, 'fixtures/berth.ts')];
  await build({ entryPoints, outfile: PROGRAM, bundle: true, packages: 'external', platform: 'node', format: 'esm' });
  const outcome = await bringUp();
  if (outcome.kind === 'failed') throw new Error(outcome.problem);
}, 300_000);

afterAll(async () => {
  await down(state);
  rmSync(state.root, { recursive: true, force: true });
}, 120_000);

describe('berth up on real parts', () => {
  test('serves with every process healthy, and doctor finds nothing', async () => {
    const { phase, processes } = await status(state);
    expect(phase).toBe('ready');
    expect(processes.filter(({ healthy }) => healthy !== true)).toEqual([]);
    expect(processes.map(({ name }) => name).sort()).toEqual([
      ...['api', 'control-1', 'control-2', 'gateway', 'node', 'postgres', 'storage', 'temporal'],
    ]);
    await eventually('doctor is content', async () => (await failures()).length === 0);
  });

  test('each process has its metrics, on the loopback interface', async () => {
    const ports = portsOf();
    const own = ['api', 'control1', 'control2', 'gateway', 'node', 'storage'].map((name) => `${name}Metrics`);
    const temporal = ['temporal', 'nodeTemporal', 'control1Temporal'].map((name) => `${name}Metrics`);
    for (const name of [...own, ...temporal]) {
      const answer = await fetch(`http://127.0.0.1:${ports[name]}/metrics`);
      expect([name, answer.status], name).toEqual([name, 200]);
      expect(await answer.text(), name).toMatch(own.includes(name) ? /process_cpu_seconds_total/ : /# TYPE/);
    }
  });

  test('Temporal keeps histories for 30 days', async () => {
    const { connection } = connectTemporal({ address: `127.0.0.1:${portsOf()['temporal']}`, namespace: 'default' });
    const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
    await connection.close();
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(30 * 24 * 3600);
  });

  test('heals after kill -9 of each of its processes', async () => {
    await eventually(
      'all are up',
      () => (readRunStatus(state)?.children ?? []).every(({ process: running }) => running !== null),
      60,
    );
    for (const child of readRunStatus(state)?.children ?? []) {
      if (child.process !== null) process.kill(child.process.pid, 'SIGKILL');
    }
    await eventually(
      'all are back',
      () => (readRunStatus(state)?.children ?? []).every((child) => child.state === 'ready' && child.restarts > 0),
      180,
    );
    await eventually('doctor is content', async () => (await failures()).length === 0, 60);
  });

  test('starts again after kill -9 of its supervisor, with the engines taken over', async () => {
    const before = readRunStatus(state);
    if (before === undefined) throw new Error('no status');
    process.kill(before.supervisor.pid, 'SIGKILL');
    await eventually('the supervisor is gone', () => !isRunning(before.supervisor));
    const found = await doctor(state, process.env);
    expect(found.find(({ name }) => name === 'processes')).toMatchObject({
      verdict: 'fail',
      mend: 'berth up, or berth down',
    });
    expect(await bringUp()).toMatchObject({ kind: 'started' });
    const adopted = readRunStatus(state)?.children.filter((child) => child.isAdopted);
    expect(adopted?.map(({ name }) => name)).toEqual(['postgres', 'temporal']);
    await eventually('doctor is content', async () => (await failures()).length === 0, 60);
  });

  test('takes one more control worker from outside, which stops alone', async () => {
    const args = [PROGRAM, 'worker', 'control', '--state', state.root];
    const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    child.stdout?.on('data', (data: Buffer) => (output += data.toString()));
    await eventually('it polls', () => output.includes('"state":"RUNNING"'), 60);
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await gone).toEqual([0, null]);
    expect((await status(state)).processes.filter(({ healthy }) => healthy !== true)).toEqual([]);
  });

  test('goes down in order and leaves no process', async () => {
    const children = readRunStatus(state)?.children ?? [];
    const lines = await down(state);
    expect(lines.at(0)).toBe('api stopped');
    expect(lines.slice(-3)).toEqual(['temporal stopped', 'postgres stopped', 'supervisor stopped']);
    expect(children.filter((child) => child.process !== null && isRunning(child.process))).toEqual([]);
    expect(await down(state)).toEqual([]);
  });
});
