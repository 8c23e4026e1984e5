import { setTimeout as pause } from 'node:timers/promises';
import { SIMULATED_ENGINE_IMAGE } from '../../infra/images/simulated-engine.mjs';
import { NotFoundError } from '../../src/sdk/index.js';
import { eventually } from '../support/process.js';
import { type BurstCounts, burst, newCounts, untilServed } from './support/model-bursts-clients.js';
import {
  auditGpus,
  gib,
  killContainer,
  type ModelsBerth,
  startModelsBerth,
  weightsOf,
} from './support/models-berth.js';
import { type Random, seeded } from './support/random.js';
import { atMost, info, median, numberOption, type Result } from './support/report.js';

/**
 * An hour of bursts in minutes: `--engines` simulated engines on `--gpus` simulated GPUs, of which each holds two awake, in a Berth of real
 * processes and containers, while engines are killed at random, and once the agent and the control worker. Each GPU checks at every change
 * that it was never promised more than it has.
 */
const ENGINES = numberOption('engines', 39);
const GPUS = numberOption('gpus', 8);
const MINUTES = numberOption('minutes', 4);
/** Of each model in the hour. */
const BURSTS = numberOption('bursts', 5);
const ENGINE_KILLS = numberOption('kills', Math.ceil(ENGINES / 5));
const SEED = numberOption('seed', Date.now() % 2 ** 31);
const TIME_SCALE = 60 / MINUTES;
/** Of the hour's clock, before it is compressed. */
const BURST_SECONDS = 60;
const SLEEP_AFTER_SECONDS = 120;
const MAKE_ROOM_AFTER_SECONDS = 30;
/** Requests in flight of a burst. */
const DEPTH_MAX = 6;
const AUDIT_SECONDS = 5;
const POOL = 'bursts';
const GPU_GIB = 95.1;
/** So that models can move, and no more anchors than that takes. */
const GPUS_A_MEMBER = GPUS % 2 === 0 && GPUS > 2 ? 2 : 1;
const MEMBERS = GPUS / GPUS_A_MEMBER;
/** Room for the weights of all models on each of its GPUs. */
const MEMBER_MEMORY_BYTES = gib(400) * GPUS_A_MEMBER;

interface Run {
  readonly berth: ModelsBerth;
  readonly counts: BurstCounts;
  readonly random: Random;
  readonly models: readonly string[];
  readonly kills: string[];
}

export async function run(): Promise<Result> {
  const berth = await startModelsBerth({ gpus: GPUS, gpuMemoryBytes: gib(GPU_GIB), memoryBytes: gib(4000) });
  try {
    const models = Array.from({ length: ENGINES }, (_, index) => `m${index + 1}`);
    const given: Run = { berth, models, counts: newCounts(), random: seeded(SEED), kills: [] };
    const placingSeconds = await timed(() => claimAll(given));
    const audits = keepAuditing(berth);
    const bursts = models.map((model) => burstsOf(given, model));
    await Promise.all([...bursts, killEngines(given), killParts(given)]);
    const unserved = await askEach(given);
    const gpus = await audits.stop();
    const leftBehind = await giveBack(berth);
    return report({ given, placingSeconds, unserved, leftBehind, gpus, audits: audits.count() });
  } finally {
    await berth.stop();
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const begunMs = performance.now();
  await work();
  return (performance.now() - begunMs) / 1000;
}

const compressed = (seconds: number): number => Math.max(1, Math.round(seconds / TIME_SCALE));

async function claimAll({ berth, models }: Run): Promise<void> {
  const { api } = berth;
  await api.pools.create({
    name: POOL,
    members: MEMBERS,
    member: {
      image: SIMULATED_ENGINE_IMAGE,
      gpus: GPUS_A_MEMBER,
      cpuMilli: 500,
      memoryBytes: MEMBER_MEMORY_BYTES,
    },
    policy: {
      noWakeReserveWhileAsleep: true,
      sleepAfterSeconds: compressed(SLEEP_AFTER_SECONDS),
      sleepToMakeRoomAfterSeconds: compressed(MAKE_ROOM_AFTER_SECONDS),
    },
  });
  const artifactUrl = await weightsOf(berth);
  const knobs = { footprint: '30Gi', residue: '1362Mi', 'kv-bytes-per-request': '2Gi', 'tokens-per-second': '20' };
  const args = Object.entries({ ...knobs, 'start-seconds': '0.5' }).flatMap(([name, value]) => [
    `--simulated-${name}`,
    value,
  ]);
  const perGpu = { maximumFootprint: '30Gi', kvFloor: '10Gi' };
  for (const modelName of models) await api.models.claim({ modelName, pool: POOL, artifactUrl, perGpu, args });
  const isPlaced = async () => (await phases(berth)).every((phase) => phase === 'ACTIVE' || phase === 'SLEEPING');
  await eventually(`${ENGINES} models are placed`, () => pause(500).then(isPlaced), 60 + ENGINES * 10);
}

const phases = async ({ api }: ModelsBerth): Promise<string[]> =>
  (await api.models.list({ pool: POOL }).toArray()).map(({ phase }) => phase);

/** Its bursts, spread over the time by chance. */
async function burstsOf({ berth, counts, random }: Run, model: string): Promise<void> {
  const moments = Array.from({ length: BURSTS }, () => random.int(MINUTES * 60_000)).toSorted((a, b) => a - b);
  const begunMs = performance.now();
  for (const atMs of moments) {
    await pause(Math.max(0, begunMs + atMs - performance.now()));
    const shape = { depth: 1 + random.int(DEPTH_MAX), seconds: BURST_SECONDS / TIME_SCALE, timeScale: TIME_SCALE };
    await burst({ berth, counts, model, ...shape });
  }
}

/** One that runs, by chance, at equal distances. */
async function killEngines({ berth, random, kills }: Run): Promise<void> {
  for (let count = 0; count < ENGINE_KILLS; count += 1) {
    await pause((MINUTES * 60_000) / (ENGINE_KILLS + 1));
    const engines = (await berth.containers()).filter(
      ({ state, labels }) => state === 'running' && labels['berth.instance'] !== undefined,
    );
    const victim = engines.length === 0 ? undefined : random.pick(engines);
    if (victim === undefined) continue;
    await killContainer(victim.id);
    kills.push(victim.name);
  }
}

async function killParts({ berth, kills }: Run): Promise<void> {
  for (const part of ['node', 'control-1'] as const) {
    await pause(MINUTES * 20_000);
    await berth.kill(part);
    kills.push(part);
  }
}

/** Each model once more, in the quiet: a wake that was lost would show. */
async function askEach({ berth, models }: Run): Promise<string[]> {
  const counts = newCounts();
  for (const model of models)
    await untilServed({ berth, counts, model, depth: 1, seconds: 0, timeScale: TIME_SCALE }).then((served) => {
      if (!served) counts.unexplained.push(`${model} is not served in the end: ${[...counts.explained.keys()].at(-1)}`);
    });
  return counts.unexplained.filter((text) => text.includes('in the end'));
}

type Gpus = Awaited<ReturnType<typeof auditGpus>>;

/** Beside the GPUs' own checks, also what the segments say between two changes. */
function keepAuditing(berth: ModelsBerth): { readonly count: () => number; readonly stop: () => Promise<Gpus> } {
  const ending = new AbortController();
  let count = 0;
  const audit = async (): Promise<Gpus> => {
    count += 1;
    return auditGpus(berth);
  };
  const going = (async () => {
    while (!ending.signal.aborted) {
      await audit();
      await pause(AUDIT_SECONDS * 1000, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  })();
  going.catch(() => undefined); // told by `stop`
  return {
    count: () => count,
    stop: async () => {
      ending.abort();
      await going;
      return audit();
    },
  };
}

/** What is still there once all claims and the pool were removed: nothing, as it should be. */
async function giveBack(berth: ModelsBerth): Promise<string[]> {
  const { api } = berth;
  const ignored = (error: unknown): void => {
    if (!(error instanceof NotFoundError)) throw error;
  };
  for (const { modelName } of await api.models.list({ pool: POOL }).toArray())
    await api.models.remove(modelName).then(() => undefined, ignored);
  const isEnded = async () => (await phases(berth)).length === 0;
  await eventually('the claims have ended', () => pause(250).then(isEnded), 180);
  await api.pools.remove(POOL);
  const left = async (): Promise<string[]> => {
    const { used } = await api.nodes.get(berth.node);
    const containers = (await berth.containers()).map(({ name }) => name);
    const isFree = used.cpuMilli === 0 && used.memoryBytes === 0;
    return [...containers, ...(isFree ? [] : [`the ledger: ${JSON.stringify(used)}`])];
  };
  await eventually('all is given back', async () => (await pause(250).then(left)).length === 0, 60).catch(
    () => undefined,
  );
  return left();
}

interface Seen {
  readonly given: Run;
  readonly placingSeconds: number;
  readonly unserved: readonly string[];
  readonly leftBehind: readonly string[];
  readonly gpus: Gpus;
  readonly audits: number;
}

function report({ given, placingSeconds, unserved, leftBehind, gpus, audits }: Seen): Result {
  const { counts, kills } = given;
  const sum = (of: (gpu: Gpus[number]) => number): number => gpus.reduce((total, gpu) => total + of(gpu), 0);
  const none = (name: string, measured: number) => atMost({ name, measured, unit: '' }, 0);
  const told = (name: string, measured: number, unit = '') => info({ name, measured, unit });
  const wakes = counts.wakeMs.toSorted((a, b) => a - b);
  const explained = [...counts.explained].reduce((total, [, count]) => total + count, 0);
  const most = Math.max(...gpus.map(({ mostEntitledBytes, memoryBytes }) => mostEntitledBytes / memoryBytes));
  const rows = [
    none(
      'excesses on any GPU',
      sum(({ excesses }) => excesses),
    ),
    none('GPUs that did not answer', GPUS - gpus.length),
    none('answers without a reason, or none', counts.unexplained.length),
    none('models not served in the end', unserved.length),
    none('left behind in the end', leftBehind.length),
    told(
      'checks by the GPUs',
      sum(({ checks }) => checks),
    ),
    told('most promised of a GPU', most * 100, '%'),
    told('bursts', counts.bursts),
    told('of those, model not awake', counts.wakes),
    told('of those, never served but told why', explained),
    told('requests', counts.requests),
    told('of those, served', counts.served),
    told('of those, broken by a kill (502)', counts.broken),
    told('kills', kills.length),
    told('not awake → served, p50', median(wakes) / 1000, 's'),
    told('not awake → served, p95', (wakes[Math.ceil(wakes.length * 0.95) - 1] ?? Number.NaN) / 1000, 's'),
    told(`${ENGINES} claims → all placed`, placingSeconds, 's'),
  ];
  const notes = [
    `${ENGINES} simulated engines on ${GPUS} simulated GPUs in ${MEMBERS} members; an hour in ${MINUTES} min: ${BURSTS} bursts of ${BURST_SECONDS} s a model, sleepAfter ${SLEEP_AFTER_SECONDS} s and making room after ${MAKE_ROOM_AFTER_SECONDS} s of that hour, at least 1 s; seed ${SEED}; ${audits} audits from outside`,
    `killed: ${kills.join(', ')}`,
    ...[...counts.explained].map(([reason, count]) => `given up on after 90 s: ${count} × ${reason}`),
    ...counts.unexplained.slice(0, 10),
    ...unserved.slice(0, 10),
    ...leftBehind.slice(0, 10).map((name) => `left behind: ${name}`),
    ...gpus.flatMap(({ id, violations }) => violations.slice(0, 1).map((one) => `${id}: ${JSON.stringify(one)}`)),
  ];
  return { name: 'model-bursts', rows, notes };
}
