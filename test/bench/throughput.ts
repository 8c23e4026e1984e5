import { eventually } from '../support/process.js';
import { type Floor, startFloor } from './support/floor.js';
import { type Plant, startPlant } from './support/plant.js';
import { atLeastFloor, atMost, info, median, numberOption, type Result, type Row } from './support/report.js';
import { inParallel, requestOf, submitDirectly } from './support/submit.js';

/**
 * Sessions a second through the whole life, with containers replaced by the instant runtime, beside a do-nothing control
 * plane with the same tasks on the same Temporal; and what one session leaves in its history.
 */
const AT_ONCE = 32;
const ROUNDS = numberOption('rounds', 3);
const ENDED = `SELECT count(*) FROM sessions WHERE ended_at IS NOT NULL`;
const REQUEST = requestOf(['true']);

/** From the first submit until the last is over, in sessions a second. */
async function rate(count: number, submit: () => Promise<unknown>, ended: () => Promise<number>): Promise<number> {
  const before = await ended();
  const begun = performance.now();
  await inParallel(count, AT_ONCE, submit);
  await eventually(`${count} sessions are over`, async () => (await ended()) >= before + count, 300);
  return (count * 1000) / (performance.now() - begun);
}

let made = 0;
const floorRate = (floor: Floor, count: number) =>
  rate(
    count,
    () => floor.submit({ id: `t${(made += 1)}`, isPlanned: true }),
    async () => floor.finished(),
  );
const directRate = (plant: Plant, count: number) =>
  rate(
    count,
    () => submitDirectly(plant, REQUEST),
    () => plant.count(ENDED),
  );
const apiRate = (plant: Plant, count: number) =>
  rate(
    count,
    () => plant.api.sessions.create(REQUEST),
    () => plant.count(ENDED),
  );

interface Counts {
  readonly activities: number;
  readonly signals: number;
  readonly upserts: number;
  readonly workflowTasks: number;
}

/** Of one session alone on the machine; the kick of its group is a signal, too. */
async function countsOf(plant: Plant): Promise<Counts> {
  const id = await submitDirectly(plant, REQUEST);
  await plant.api.sessions.wait(id);
  const handle = plant.client.workflow.getHandle(`session/${id}`);
  await handle.result();
  const { events } = await handle.fetchHistory();
  const count = (attributes: keyof NonNullable<typeof events>[number]) =>
    (events ?? []).filter((event) => event[attributes] != null).length;
  return {
    activities: count('activityTaskScheduledEventAttributes'),
    signals: count('workflowExecutionSignaledEventAttributes') + 1,
    upserts: count('upsertWorkflowSearchAttributesEventAttributes'),
    workflowTasks: count('workflowTaskCompletedEventAttributes'),
  };
}

async function measureRates(plant: Plant, floor: Floor, count: number): Promise<Row[]> {
  await floorRate(floor, 32);
  await apiRate(plant, 32);
  const rates = { floor: [] as number[], direct: [] as number[], api: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.floor.push(await floorRate(floor, count));
    rates.direct.push(await directRate(plant, count));
    rates.api.push(await apiRate(plant, count));
  }
  const against = { floor: median(rates.floor), unit: 'sessions/s' };
  return [
    atLeastFloor({ name: 'whole life, submitted directly', measured: median(rates.direct), ...against }, 0.6),
    atLeastFloor({ name: 'whole life, submitted through the API', measured: median(rates.api), ...against }, 0.6),
  ];
}

export async function run(): Promise<Result> {
  const count = numberOption('sessions', 200);
  const plant = await startPlant({ cpus: 64, gpus: 64 });
  const floor = await startFloor(plant.temporal.address);
  try {
    const counts = await countsOf(plant);
    const of = { unit: 'per session' };
    const rows = [
      ...(await measureRates(plant, floor, count)),
      atMost({ name: 'activities', measured: counts.activities, ...of }, 6),
      atMost({ name: 'signals, with the kick', measured: counts.signals, ...of }, 3),
      atMost({ name: 'search-attribute upserts', measured: counts.upserts, ...of }, 3),
      info({ name: 'workflow tasks', measured: counts.workflowTasks, ...of }),
    ];
    const how = `${ROUNDS} rounds of ${count} sessions, ${AT_ONCE} submits at once, floor and both doors in turn; medians`;
    return {
      name: 'throughput',
      rows,
      notes: [how, 'launch orders and reports of the node go through the API in both'],
    };
  } finally {
    await floor.stop();
    await plant.stop();
  }
}
