import { setTimeout as pause } from 'node:timers/promises';
import { SIMULATED_ENGINE_IMAGE } from '../../infra/images/simulated-engine.mjs';
import { eventually } from '../support/process.js';
import { type Floor, startFloor } from './support/floor.js';
import { chat, gib, type ModelsBerth, startModelsBerth, weightsOf } from './support/models-berth.js';
import { atMost, info, median, numberOption, type Result, type Row } from './support/report.js';

/**
 * The control plane's part of a wake: from a request at the gateway until that same request is answered by the engine (the claim has
 * it held), less what the simulated engine takes to wake, and, where a neighbour gives its room, to sleep. So an answer of one token and
 * all of the engine's own overhead are in it.
 */
const ROUNDS = numberOption('rounds', 20);
const SLEEP_SECONDS = 0.3;
const WAKE_SECONDS = 0.3;
const KEPT_MS = 500;
const NEIGHBOUR_MS = 1000;
const POOLS = { keeps: ['keeps-a', 'keeps-b'], releases: ['gives-a', 'gives-b', 'gives-c'] } as const;

export async function run(): Promise<Result> {
  const berth = await startModelsBerth({ gpus: 2, gpuMemoryBytes: gib(95.1), memoryBytes: gib(900) });
  const floor = await startFloor(berth.temporalAddress);
  try {
    await prepare(berth);
    const seen = { kept: [] as number[], neighbour: [] as number[], floor: [] as number[] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      const times = {
        kept: await wakeKept(berth),
        floor: await floorOnce(floor, round),
        neighbour: await wakeWithNeighbour(berth),
      };
      if (round > 0) for (const key of ['kept', 'floor', 'neighbour'] as const) seen[key].push(times[key]);
    }
    return report(seen);
  } finally {
    await floor.stop();
    await berth.stop();
  }
}

async function prepare(berth: ModelsBerth): Promise<void> {
  const artifactUrl = await weightsOf(berth);
  for (const [pool, models] of Object.entries(POOLS)) {
    await berth.api.pools.create({
      name: pool,
      member: { image: SIMULATED_ENGINE_IMAGE, gpus: 1, cpuMilli: 1000, memoryBytes: gib(400) },
      policy: { noWakeReserveWhileAsleep: pool === 'releases', sleepToMakeRoomAfterSeconds: 1 },
    });
    for (const modelName of models) {
      const knobs = { footprint: '30Gi', residue: '1Gi', 'start-seconds': '0.5', 'tokens-per-second': '1000' };
      const own = { 'sleep-seconds': `${SLEEP_SECONDS}`, 'wake-seconds': `${WAKE_SECONDS}` };
      await berth.api.models.claim({
        ...{ modelName, pool, artifactUrl },
        perGpu: { maximumFootprint: '30Gi', kvFloor: '10Gi' },
        hold: { maxWaitSeconds: 60, maxQueue: 10 },
        args: Object.entries({ ...knobs, ...own }).flatMap(([name, value]) => [`--simulated-${name}`, value]),
      });
      await reaches(berth, modelName, 'ACTIVE');
    }
  }
}

const reaches = (berth: ModelsBerth, model: string, phase: string): Promise<void> =>
  eventually(`${model} is ${phase}`, async () => (await berth.api.models.get(model)).phase === phase, 120);

/** In ms. */
async function answered(berth: ModelsBerth, model: string): Promise<number> {
  const begunMs = performance.now();
  const { status, reason } = await chat(berth, model);
  if (status !== 200) throw new Error(`${model}: ${status} ${reason}`);
  return performance.now() - begunMs;
}

async function wakeKept(berth: ModelsBerth): Promise<number> {
  const model = POOLS.keeps[0];
  await berth.api.models.sleep(model);
  await reaches(berth, model, 'SLEEPING');
  await pause(1500); // nothing is under way
  return (await answered(berth, model)) - WAKE_SECONDS * 1000;
}

/** The one of three that sleeps; of the two others, both idle and awake for long enough, one is put to sleep. */
async function wakeWithNeighbour(berth: ModelsBerth): Promise<number> {
  await pause(3500); // idle for a second as the agent's looks tell it
  const claims = await Promise.all(POOLS.releases.map((model) => berth.api.models.get(model)));
  const sleeper = claims.find(({ phase }) => phase === 'SLEEPING');
  if (sleeper === undefined) throw new Error(`nobody sleeps: ${claims.map(({ phase }) => phase).join(' ')}`);
  return (await answered(berth, sleeper.modelName)) - (SLEEP_SECONDS + WAKE_SECONDS) * 1000;
}

/** A signal to a workflow that has two empty activities done, on two queues, until the third begins. */
async function floorOnce(floor: Floor, round: number): Promise<number> {
  const id = `wake-${round}`;
  await floor.submit({ id, isPlanned: false });
  await pause(500);
  const begunMs = Date.now();
  await floor.placed(id);
  return (await floor.running(id)) - begunMs;
}

type Seen = Readonly<Record<'kept' | 'neighbour' | 'floor', readonly number[]>>;

function report(seen: Seen): Result {
  const sorted = (key: keyof Seen) => seen[key].toSorted((a, b) => a - b);
  const at = (key: keyof Seen, share: number) => sorted(key)[Math.ceil(ROUNDS * share) - 1] ?? Number.NaN;
  const floor = median(seen.floor);
  const rowsOf = (key: 'kept' | 'neighbour', name: string, limitMs: number): Row[] => [
    atMost({ name: `${name}, p50`, measured: median(seen[key]), floor, unit: 'ms' }, limitMs),
    atMost({ name: `${name}, p95`, measured: at(key, 0.95), floor, unit: 'ms' }, limitMs),
    info({ name: `${name}, most`, measured: at(key, 1), floor, unit: 'ms' }),
  ];
  const rows = [
    ...rowsOf('kept', 'wake, reservation kept', KEPT_MS),
    ...rowsOf('neighbour', 'wake, a neighbour sleeps first', NEIGHBOUR_MS),
    info({ name: 'floor: signal → two empty activities, p50', measured: floor, unit: 'ms' }),
  ];
  const how = `${ROUNDS} rounds, each way in turn; the request is held at the gateway until it is served; the engine’s ${WAKE_SECONDS} s to wake and ${SLEEP_SECONDS} s to sleep are subtracted, its own overhead is not`;
  return { name: 'model-wake', rows, notes: [how] };
}
