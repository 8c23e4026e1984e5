import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { down } from '../../src/cli/supervisor/down.js';
import { up } from '../../src/cli/supervisor/up.js';
import { connectDocker } from '../../src/docker/connect.js';
import { readConfigFile } from '../../src/platform/config-file.js';
import { stateDir } from '../../src/platform/state-dir.js';
import { Client } from '../../src/sdk/index.js';
import { ensureTestDocker, uniqueLabel } from '../support/docker.js';
import { type Floor, startFloor } from './support/floor.js';
import { ensureBuilt, startPlant } from './support/plant.js';
import { atMostFloor, info, median, numberOption, type Result, type Row } from './support/report.js';
import { requestOf } from './support/submit.js';

/** One session at a time on an idle Berth: from the call of `create` until it is admitted, and until it runs. */
const ROUNDS = numberOption('rounds', 15);
const ALLOWED_MS = 150;

interface Times {
  readonly admittedMs: number;
  readonly runningMs: number;
}

/** The start of the row's `running` is on Postgres's clock, the same machine's. The session is stopped and gone at return. */
async function submitOnce(api: Client, image?: string): Promise<Times> {
  const begun = Date.now();
  const { id } = await api.sessions.create({ ...requestOf(['sleep', 'infinity'], image), gracePeriodSeconds: 0 });
  const admittedMs = Date.now() - begun;
  const { startedAt } = await api.sessions.wait(id, { for: 'running', timeoutSeconds: 120 });
  await api.sessions.stop(id);
  await api.sessions.wait(id, { timeoutSeconds: 120 });
  if (startedAt === null) throw new Error(`${id} did not run`);
  return { admittedMs, runningMs: Date.parse(startedAt) - begun };
}

async function floorOnce(floor: Floor, id: string, isPlanned: boolean): Promise<Times> {
  const begun = Date.now();
  await floor.submit({ id, isPlanned });
  const admittedMs = Date.now() - begun;
  if (!isPlanned) await floor.placed(id);
  return { admittedMs, runningMs: (await floor.running(id)) - begun };
}

/** Each in turn, so that whatever else the machine does meets all alike; the first round of each warms up. */
async function inTurn<Name extends string>(
  works: Readonly<Record<Name, (round: number) => Promise<Times>>>,
): Promise<Readonly<Record<Name, Times>>> {
  const names = Object.keys(works) as Name[];
  const seen = new Map<Name, Times[]>(names.map((name) => [name, []]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const name of names) {
      const times = await works[name](round);
      if (round > 0) seen.get(name)?.push(times);
    }
  }
  const mid = (name: Name, key: keyof Times) => median((seen.get(name) ?? []).map((times) => times[key]));
  const entries = names.map((name) => [
    name,
    { admittedMs: mid(name, 'admittedMs'), runningMs: mid(name, 'runningMs') },
  ]);
  return Object.fromEntries(entries) as Record<Name, Times>;
}

async function againstWorkflows(): Promise<Row[]> {
  const plant = await startPlant({ cpus: 8, gpus: 8 });
  const floor = await startFloor(plant.temporal.address);
  try {
    const { berth, planned, bare } = await inTurn({
      planned: (round) => floorOnce(floor, `p${round}`, true),
      berth: () => submitOnce(plant.api),
      bare: (round) => floorOnce(floor, `b${round}`, false),
    });
    const row = (key: keyof Times, name: string, against: Times) =>
      atMostFloor({ name, measured: berth[key], floor: against[key], unit: 'ms' }, { times: 1.5 });
    return [
      row('admittedMs', 'submit → admitted', bare),
      row('runningMs', 'submit → running, instant runtime', planned),
      row('runningMs', 'submit → running, instant runtime, floor without a planner', bare),
    ];
  } finally {
    await floor.stop();
    await plant.stop();
  }
}

async function dockerOnce(image: string, label: string): Promise<Times> {
  const docker = connectDocker();
  const begun = Date.now();
  const container = await docker.createContainer({
    Image: image,
    Cmd: ['sleep', 'infinity'],
    Labels: { 'berth.bench': label },
  });
  try {
    await container.start();
    return { admittedMs: 0, runningMs: Date.now() - begun };
  } finally {
    await container.remove({ force: true });
  }
}

/** A whole `berth up` in a folder of its own, with containers that really run. */
async function againstDocker(): Promise<Row[]> {
  ensureBuilt();
  const { busybox } = await ensureTestDocker();
  const state = stateDir(mkdtempSync(join(tmpdir(), 'berth-bench-up-')));
  const flags = { cpus: 4, simulatedGpus: 4 };
  const program = join(import.meta.dirname, '../../dist/berth.js');
  try {
    const outcome = await up({
      ...{ stateRoot: state.root, flags, wantsUsualPorts: false, timeoutSeconds: 180, onProgress: () => undefined },
      supervisorCommand: [process.execPath, program, 'supervise'],
    });
    if (outcome.kind === 'failed') throw new Error(outcome.problem);
    const token = readFileSync(join(state.secretsDir, 'admin-api-key'), 'utf8').trim();
    const api = new Client({ baseUrl: `http://127.0.0.1:${readConfigFile(state.configFile)?.ports['api']}`, token });
    const label = uniqueLabel('bench');
    const { berth, docker } = await inTurn({
      docker: () => dockerOnce(busybox, label),
      berth: () => submitOnce(api, busybox),
    });
    const pair = { measured: berth.runningMs, floor: docker.runningMs, unit: 'ms' };
    return [
      atMostFloor({ name: 'submit → running, Docker', ...pair }, { extra: ALLOWED_MS }),
      info({ name: 'above Docker', measured: berth.runningMs - docker.runningMs, unit: 'ms' }),
      info({ name: 'submit → admitted, berth up', measured: berth.admittedMs, unit: 'ms' }),
    ];
  } finally {
    await down(state);
    rmSync(state.root, { recursive: true, force: true });
  }
}

export async function run(): Promise<Result> {
  const notes = [
    `${ROUNDS} rounds, one session at a time, each floor in turn with Berth; medians; submits go through the API`,
    'floor of the first rows: do-nothing workflows with the same tasks on the same Temporal, with and without the pass',
  ];
  const rows = [...(await againstWorkflows())];
  try {
    rows.push(...(await againstDocker()));
  } catch (error) {
    notes.push(`NOT MEASURED against Docker: ${error instanceof Error ? error.message : String(error)}`);
  }
  return { name: 'submit-latency', rows, notes };
}
