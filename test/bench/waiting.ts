import { planGroup } from '../../activities/control/planning.js';
import { newKernelId } from '../../src/platform/ids.js';
import { sealing } from '../support/sealing.js';
import { type Plant, startPlant } from './support/plant.js';
import { atMost, atMostFloor, info, median, numberOption, type Result, type Row } from './support/report.js';
import { inParallel, requestOf, submitDirectly } from './support/submit.js';

/** What waiting costs: the same questions with 100 and with 10,000 who wait, each an open workflow of its own. */
const FEW = 100;
const ROUNDS = 15;
const AT_ONCE = 24;
const CONTROL_MIB_MAX = 600;
const MIB = 2 ** 20;
const REQUEST = requestOf(['sleep', 'infinity']);

async function timed(work: () => Promise<unknown>): Promise<number> {
  await work();
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return median(times);
}

async function ask(plant: Plant): Promise<Record<string, number>> {
  const { api, store, door } = plant;
  const log = { warn: () => undefined };
  const dependencies = { store, door, newKernelId, ...sealing, log, count: () => undefined };
  const submit = await timed(() => api.sessions.create(REQUEST));
  const { id } = await api.sessions.create(REQUEST); // the last in the queue
  await quiet();
  return {
    'submit → admitted': submit,
    'pass with the database, head blocked': await timed(() => planGroup(dependencies, 'default')),
    'why, of the last': await timed(() => api.sessions.why(id)),
    'queue, first page': await timed(async () => {
      for await (const _first of api.queue.list('default')) break;
    }),
  };
}

/** Until the planner has done what the last submits kicked it for. */
const quiet = () => new Promise((resolve) => setTimeout(resolve, 2_000));

async function fill(plant: Plant, count: number): Promise<number> {
  const begun = performance.now();
  await inParallel(count, AT_ONCE, () => submitDirectly(plant, REQUEST));
  return (count * 1000) / (performance.now() - begun);
}

export async function run(): Promise<Result> {
  const most = numberOption('waiting', 10_000);
  const plant = await startPlant({ cpus: 4, gpus: 1 });
  try {
    const holder = await plant.api.sessions.create(REQUEST);
    await plant.api.sessions.wait(holder.id, { for: 'running', timeoutSeconds: 120 });
    await fill(plant, FEW);
    const few = await ask(plant);
    const fewMemory = plant.controlMemoryBytes().now;
    const perSecond = await fill(plant, most - FEW);
    const many = await ask(plant);
    const memory = plant.controlMemoryBytes();
    const of = (name: string) => ({ name, measured: many[name] ?? 0, floor: few[name] ?? 0, unit: 'ms' });
    const rows: Row[] = [
      ...Object.keys(few).map((name) => atMostFloor(of(name), { times: 2 })),
      atMost({ name: 'control worker, peak', measured: memory.peak / MIB, unit: 'MiB' }, CONTROL_MIB_MAX),
      info({ name: 'control worker, now', measured: memory.now / MIB, floor: fewMemory / MIB, unit: 'MiB' }),
      info({ name: 'submits while filling', measured: perSecond, unit: 'sessions/s' }),
    ];
    const waiting = await plant.count(`SELECT count(*) FROM sessions WHERE state = 'PENDING'`);
    return {
      name: 'waiting',
      rows,
      notes: [`measured with ${waiting} waiting, the floor with ${FEW}; medians of ${ROUNDS}`],
    };
  } finally {
    await plant.stop();
  }
}
