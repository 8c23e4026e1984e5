import { setTimeout as pause } from 'node:timers/promises';
import { loadEndpoint } from '../support/endpoint-load.js';
import { eventually } from '../support/process.js';
import { type Floor, startFloor } from './support/floor.js';
import { type Plant, startPlant } from './support/plant.js';
import { atMost, info, median, numberOption, type Result, type Row } from './support/report.js';
import { inParallel } from './support/submit.js';

/**
 * 200 deployments of five replicas on the instant runtime, whose containers listen and do nothing else: what they cost, and how soon
 * a killed replica, with its control worker or without, and a lost node are made good. Traffic is real, through the gateway.
 */
const DEPLOYMENTS = numberOption('deployments', 200);
const EACH = 5;
const ALL = DEPLOYMENTS * EACH;
const ROUNDS = numberOption('rounds', 20);
const ROUNDS_KILLED = numberOption('rounds-killed', 6);
const APPLIES_AT_ONCE = 8;
/** Alone on its node: the one that dies. The others hold the rest, and the reserve holds what the dead one held. */
const DIES = 'n1';
const RESERVE = 'n5';
const CORES = { dies: Math.ceil(ALL / 10), others: Math.ceil(ALL * 0.32), reserve: Math.ceil(ALL / 10) + 10 };
const MIB = 2 ** 20;
const GIB = 2 ** 30;
const PORT = 8000;
const QUIET_MS = 10_000;

const nameOf = (at: number): string => `bench-${String(at).padStart(3, '0')}`;
const SERVING = `SELECT count(*) FROM deployment_places WHERE closed_at IS NULL AND route = 'ACTIVE' AND health IN ('healthy', 'degraded')`;
const WHOLE = `SELECT count(*) FROM deployments d WHERE ended_at IS NULL AND wanted = (SELECT count(*) FROM deployment_places p
  WHERE p.deployment_id = d.id AND p.closed_at IS NULL AND p.route = 'ACTIVE' AND p.health IN ('healthy', 'degraded'))`;

export async function run(): Promise<Result> {
  const { others, reserve, dies } = CORES;
  const further = { n2: others, n3: others, n4: others, [RESERVE]: reserve };
  const plant = await startPlant({ cpus: dies, gpus: 0, further, gateway: true });
  const floor = await startFloor(plant.temporal.address);
  try {
    await plant.api.nodes.cordon(RESERVE, 'takes what a lost node held');
    const floorMs = await floors(floor);
    const filled = await fill(plant);
    const calmCores = await calmCpu(plant);
    const killed = await rounds(plant, ROUNDS, false);
    const memory = plant.controlMemoryBytes(); // of the one that has seen all; the next ones begin anew
    const beside = await rounds(plant, ROUNDS_KILLED, true);
    const lost = await loseNode(plant);
    return report({ filled, calmCores, killed, beside, lost, floorMs, memory });
  } finally {
    await floor.stop();
    await plant.stop();
  }
}

/** A signal to a workflow that has two empty activities done on two queues: raw Temporal's part of a replacement. */
async function floors(floor: Floor): Promise<number> {
  const took: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const id = `replace-${round}`;
    await floor.submit({ id, isPlanned: false });
    await pause(200);
    const begunMs = Date.now();
    await floor.placed(id);
    if (round > 0) took.push((await floor.running(id)) - begunMs);
  }
  return median(took);
}

async function fill(plant: Plant): Promise<{ readonly seconds: number; readonly perSecond: number }> {
  const begunMs = performance.now();
  await inParallel(DEPLOYMENTS, APPLIES_AT_ONCE, (at) =>
    plant.api.deployments.apply(nameOf(at), {
      replicas: EACH,
      template: {
        ...{ image: 'instant:1', command: ['sleep', 'infinity'], port: PORT },
        slots: { cpuMilli: 1000, memoryBytes: GIB },
        ...{ health: { path: '/' }, drainSeconds: 0, gracePeriodSeconds: 0 },
      },
    }),
  );
  await eventually(`${ALL} serve`, async () => (await plant.count(SERVING)) >= ALL, 900);
  const seconds = (performance.now() - begunMs) / 1000;
  return { seconds, perSecond: ALL / seconds };
}

/** What all of them cost while nothing happens, in cores of the control worker. */
async function calmCpu(plant: Plant): Promise<number> {
  await pause(QUIET_MS);
  const before = plant.controlCpuSeconds();
  await pause(QUIET_MS * 2);
  return (plant.controlCpuSeconds() - before) / ((QUIET_MS * 2) / 1000);
}

interface Replaced {
  /** From the kill until the ledger has placed another one. */
  readonly placedMs: number;
  readonly servesMs: number;
  /** From the kill until the last request began that was not served; 0: each was. */
  readonly failedMs: number;
}

async function rounds(plant: Plant, count: number, withControl: boolean): Promise<readonly Replaced[]> {
  const seen: Replaced[] = [];
  for (let round = 0; round < count; round += 1) {
    await pause(withControl ? 5_000 : 1_000);
    seen.push(await replace(plant, nameOf((round * 7) % DEPLOYMENTS), withControl));
  }
  return seen;
}

async function replace(plant: Plant, name: string, withControl: boolean): Promise<Replaced> {
  const isGood = (status: number): boolean => status === 200;
  const traffic = await loadEndpoint({ client: plant.api, gatewayUrl: plant.gatewayUrl, name, path: '/', isGood });
  const { id, replicas } = await plant.api.deployments.get(name);
  const victim = replicas.find(({ route }) => route === 'ACTIVE')?.sessionId ?? '';
  const known = replicas.map(({ sessionId }) => sessionId);
  const port = await plant.count('SELECT port AS count FROM deployment_places WHERE session_id = $1', victim);
  await pause(300);
  const begunMs = performance.now();
  const until = async (holds: string): Promise<number> => {
    const ask = `SELECT count(*) FROM deployment_places WHERE deployment_id = $1 AND session_id <> ALL ($2::text[]) AND ${holds}`;
    await eventually(`${name}: ${holds}`, async () => (await plant.count(ask, id, known)) > 0, 120);
    return performance.now() - begunMs;
  };
  await fetch(`http://127.0.0.1:${port}/end`, { method: 'POST' }).catch(() => undefined); // it ends before it answers
  if (withControl) await plant.killControl();
  const placedMs = await until('node IS NOT NULL');
  const servesMs = await until(`route = 'ACTIVE' AND health = 'healthy'`);
  const failedMs = Math.max(0, ...(await traffic.stop()).map(({ beganMs }) => beganMs - begunMs));
  return { placedMs, servesMs, failedMs };
}

interface Lost {
  readonly replicas: number;
  /** From the moment that the node is LOST until every deployment has all its replicas again. */
  readonly wholeMs: number;
}

async function loseNode(plant: Plant): Promise<Lost> {
  await plant.api.nodes.uncordon(RESERVE);
  const replicas = await plant.count(`${SERVING} AND node = $1`, DIES);
  await plant.killNode(DIES);
  const lost = async () =>
    (await plant.count('SELECT count(*) FROM nodes WHERE name = $1 AND lost_at IS NOT NULL', DIES)) > 0;
  await eventually(`${DIES} is LOST`, lost, 180);
  const begunMs = performance.now();
  await eventually('all are whole', async () => (await plant.count(WHOLE)) === DEPLOYMENTS, 300);
  return { replicas, wholeMs: performance.now() - begunMs };
}

interface Seen {
  readonly filled: Awaited<ReturnType<typeof fill>>;
  readonly calmCores: number;
  readonly killed: readonly Replaced[];
  readonly beside: readonly Replaced[];
  readonly lost: Lost;
  readonly floorMs: number;
  readonly memory: { readonly now: number; readonly peak: number };
}

function replacedRows(
  seen: readonly Replaced[],
  floorMs: number,
  { says, limitMs }: { says: string; limitMs: number },
): Row[] {
  const sorted = (key: keyof Replaced) => seen.map((one) => one[key]).toSorted((a, b) => a - b);
  const at = (key: keyof Replaced, share: number) => sorted(key)[Math.ceil(seen.length * share) - 1] ?? Number.NaN;
  const placed = { floor: floorMs, unit: 'ms' };
  return [
    atMost({ name: `${says}: placed, p50`, measured: median(sorted('placedMs')), ...placed }, limitMs),
    atMost({ name: `${says}: placed, p95`, measured: at('placedMs', 0.95), ...placed }, limitMs),
    info({ name: `${says}: serves, p50`, measured: median(sorted('servesMs')), unit: 'ms' }),
    atMost({ name: `${says}: last request lost, most`, measured: at('failedMs', 1), unit: 'ms' }, 1_000),
  ];
}

function report({ filled, calmCores, killed, beside, lost, floorMs, memory }: Seen): Result {
  const rows: Row[] = [
    atMost({ name: 'control worker, peak', measured: memory.peak / MIB, unit: 'MiB' }, 800),
    info({ name: 'control worker, now', measured: memory.now / MIB, unit: 'MiB' }),
    info({ name: 'control worker while all are calm', measured: calmCores, unit: 'cores' }),
    info({ name: `applied until ${ALL} serve`, measured: filled.seconds, unit: 's' }),
    info({ name: 'replicas started', measured: filled.perSecond, unit: 'replicas/s' }),
    ...replacedRows(killed, floorMs, { says: 'replica killed', limitMs: 2_000 }),
    ...replacedRows(beside, floorMs, { says: 'with its control worker', limitMs: 5_000 }),
    atMost({ name: `${lost.replicas} replicas of a LOST node`, measured: lost.wholeMs / 1000, unit: 's' }, 30),
  ];
  const how = `${DEPLOYMENTS} deployments × ${EACH} on 5 agents of the instant runtime (SIMULATED: containers listen and do nothing else); ${ROUNDS} and ${ROUNDS_KILLED} kills, each in another deployment, under two lanes of requests; the floor is a signal and two empty activities`;
  return { name: 'deployments', rows, notes: [how] };
}
