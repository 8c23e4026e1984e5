import type { CreateModelClaimInput } from '../../contract/index.js';
import { CliError } from '../cli-error.js';
import { gib, gibText } from './models-figures.js';
import { type ModelsStage, POOL } from './models-stage.js';

const RESIDUE_BYTES = Math.round(1.33 * 2 ** 30);
/** Four requests take 10 GiB: more than half of every limit here, and no more than the floor. */
const KV_OF_A_REQUEST = '2560Mi';
const BUSY_REQUESTS = 4;
/** From the first sign of room being made to the place, less what the engine takes to sleep. */
const PLACED_SECONDS_MAX = 1;
const HELD_GIB = 40;

export interface EightSteps {
  readonly stage: ModelsStage;
  /** Of the claims: a folder that holds nothing of use, since nothing is loaded. */
  readonly folder: string;
  /** A neighbour has to be idle for so long before it is put to sleep for another. */
  readonly idleSeconds: number;
  readonly note: (name: string, value: unknown) => void;
}

const simulated = [
  ['footprint', '30Gi'],
  ['residue', RESIDUE_BYTES],
  ['kv-bytes-per-request', KV_OF_A_REQUEST],
  ['start-seconds', 6], // a start is looked at while it lasts, on a slow machine too
  ['sleep-seconds', 1],
  ['wake-seconds', 1],
  ['tokens-per-second', 5],
] as const;

async function claim({ stage, folder }: EightSteps, modelName: string, footprint = '30Gi'): Promise<void> {
  const asked: CreateModelClaimInput = {
    modelName,
    pool: POOL,
    artifactUrl: `folder://${folder}`,
    args: simulated.flatMap(([name, value]) => [`--simulated-${name}`, String(value)]),
    perGpu: { maximumFootprint: footprint, kvFloor: '10Gi' },
  };
  await stage.client.models.claim(asked);
}

/** Steps 1 to 8 of the reference, each number checked to 0.01 GiB. */
export async function eightSteps(scene: EightSteps): Promise<void> {
  await twoArrive(scene);
  await thirdWaits(scene);
  await loadMovesTheSplit(scene);
  await sleepsAndKeeps(scene);
  await poolReleases(scene);
  await wakesOneSleepsAnother(scene);
  await waitsForRoom(scene);
  await makesRoomForANewOne(scene);
}

async function twoArrive(scene: EightSteps): Promise<void> {
  const { stage } = scene;
  await claim(scene, 'a');
  await stage.until('1. a is claimed, and starts under its limit', { ledger: 40, phases: { a: 'STARTING' } });
  await stage.asks('a', { status: 503, retryAfterSeconds: 10, shouldRetry: 'true', reason: 'EngineStarting' });
  await stage.until('   a is ready, capped and read back', {
    ledger: 40,
    limits: { a: 65.1 },
    phases: { a: 'ACTIVE' },
  });
  await stage.asks('a', { status: 200 });
  await claim(scene, 'b');
  const limits = { a: 17.55, b: 17.55 };
  await stage.until('   b arrives: a is lowered and read back, then b starts', {
    ledger: 80,
    limits,
    phases: { a: 'ACTIVE', b: 'STARTING' },
  });
  await stage.until('   b is ready', { ledger: 80, limits, phases: { a: 'ACTIVE', b: 'ACTIVE' } });
  await stage.asks('b', { status: 200 });
}

async function thirdWaits(scene: EightSteps): Promise<void> {
  const { stage } = scene;
  await claim(scene, 'c');
  const { claims } = await stage.until('2. c needs 40: it waits, and says so', {
    ledger: 80,
    room: 15.1,
    limits: { a: 17.55, b: 17.55 },
    reasons: { c: 'NoRoom' },
  });
  const message = claims.find(({ modelName }) => modelName === 'c')?.reason?.message ?? '';
  if (!/^needs 40 GiB; .* could offer at most 15\.1 GiB/.test(message)) {
    throw new CliError(`expected: needs 40 GiB; … could offer at most 15.1 GiB; seen: ${message}`);
  }
  await stage.asks('c', { status: 503, retryAfterSeconds: 10, shouldRetry: 'true', reason: 'NoRoom' });
  await claim(scene, 'giant', '90Gi');
  await stage.until('   one that needs 100 fits no GPU', { ledger: 80, reasons: { giant: 'TooLargeForAnyGpu' } });
  await stage.asks('giant', {
    status: 503,
    retryAfterSeconds: null,
    shouldRetry: 'false',
    reason: 'TooLargeForAnyGpu',
  });
  await stage.client.models.remove('giant');
}

async function loadMovesTheSplit({ stage }: EightSteps): Promise<void> {
  const load = await stage.load('a', BUSY_REQUESTS);
  await stage.serving([load]);
  const limits = { a: 22.583, b: 12.517 };
  await stage.until(`3. ${BUSY_REQUESTS} requests of a stream: a is given more`, { ledger: 80, limits });
  await stage.serving([]);
  await load.stop();
  await stage.stays('   the load stops: the split stays', { ledger: 80, limits }, 3);
}

async function sleepsAndKeeps({ stage }: EightSteps): Promise<void> {
  await stage.client.models.sleep('a');
  await stage.until('4. a sleeps, its reservation is kept: b has the rest, c still waits', {
    ledger: 80,
    limits: { b: 25.1 },
    residues: { a: 1.33 },
    phases: { a: 'SLEEPING', b: 'ACTIVE', c: 'PENDING' },
    reasons: { a: 'EngineSleeping', c: 'NoRoom' },
  });
  await stage.asks('a', { status: 503, retryAfterSeconds: 10, reason: 'EngineSleeping' });
  await stage.until('   the request has woken a', {
    ledger: 80,
    limits: { a: 17.55, b: 17.55 },
    phases: { a: 'ACTIVE', b: 'ACTIVE', c: 'PENDING' },
  });
  await stage.asks('a', { status: 200 });
}

async function poolReleases({ stage }: EightSteps): Promise<void> {
  await stage.client.models.sleep('a');
  await stage.until('5. a sleeps again', { limits: { b: 25.1 }, phases: { a: 'SLEEPING', b: 'ACTIVE' } });
  await stage.admin.pools.change(POOL, { policy: { noWakeReserveWhileAsleep: true } });
  await stage.until('   the pool releases: a holds what it left, and c fits', {
    ledger: 81.33,
    room: 13.77,
    limits: { b: 16.885, c: 16.885 },
    residues: { a: 1.33 },
    phases: { a: 'SLEEPING', b: 'ACTIVE', c: 'ACTIVE' },
  });
  await stage.asks('c', { status: 200 });
}

async function wakesOneSleepsAnother({ stage, idleSeconds, note }: EightSteps): Promise<void> {
  await stage.untilIdle('b', idleSeconds);
  await stage.untilIdle('c', idleSeconds);
  const began = performance.now();
  await stage.asks('a', { status: 503, shouldRetry: 'true', reason: 'EngineSleeping' });
  await stage.until('6. a request for a: its whole reservation is back before anything is touched', {
    ledger: 120,
    phases: { c: 'ACTIVE' },
  });
  await stage.until('   b, idle the longest, sleeps; a wakes', {
    ledger: 81.33,
    limits: { a: 16.885, c: 16.885 },
    phases: { a: 'ACTIVE', b: 'SLEEPING', c: 'ACTIVE' },
  });
  note('wakeWithOneSleepSeconds', Number(((performance.now() - began) / 1000).toFixed(2)));
  await stage.asks('a', { status: 200 });
}

async function waitsForRoom({ stage, idleSeconds }: EightSteps): Promise<void> {
  const [a, c] = await Promise.all([stage.load('a', BUSY_REQUESTS), stage.load('c', 1)]);
  await stage.serving([a, c]);
  await stage.asks('b', { status: 503, reason: 'EngineSleeping' });
  const waits = {
    ledger: 120,
    phases: { a: 'ACTIVE', b: 'SLEEPING', c: 'ACTIVE' },
    reasons: { b: 'WaitingForRoom' },
  };
  await stage.stays('7. a request for b while a and c serve: it waits, and nobody sleeps', waits, idleSeconds + 2);
  await stage.asks('b', { status: 503, retryAfterSeconds: 20, reason: 'WaitingForRoom' });
  await stage.serving([a]);
  await c.stop();
  await stage.until(`   c is idle for ${idleSeconds} s: it sleeps, and b wakes beside a that serves`, {
    ledger: 81.33,
    limits: { a: 21.475, b: 12.295 },
    phases: { a: 'ACTIVE', b: 'ACTIVE', c: 'SLEEPING' },
  });
  await stage.asks('b', { status: 200 });
  await stage.serving([]);
  await a.stop();
  await wokenAgain(stage, 'b', { ledger: 81.33, limits: { a: 16.885, b: 16.885 } });
}

/** The same models as before, divided while nobody serves. */
async function wokenAgain(
  stage: ModelsStage,
  model: string,
  figures: { readonly ledger: number; readonly limits: Readonly<Record<string, number>> },
): Promise<void> {
  await stage.client.models.sleep(model);
  await stage.until(`   nobody serves any more, and ${model} sleeps`, { phases: { [model]: 'SLEEPING' } });
  await stage.asks(model, { status: 503, reason: 'EngineSleeping' });
  const phases = Object.fromEntries(Object.keys(figures.limits).map((name) => [name, 'ACTIVE']));
  await stage.until(`   ${model} is woken by a request: divided among idle ones`, { ...figures, phases });
}

async function makesRoomForANewOne(scene: EightSteps): Promise<void> {
  const { stage, idleSeconds } = scene;
  const b = await stage.load('b', BUSY_REQUESTS);
  await stage.serving([b]);
  await stage.until('8. b serves, a is idle', { ledger: 81.33, room: 13.77, limits: { a: 12.295, b: 21.475 } });
  await stage.untilIdle('a', idleSeconds);
  await claim(scene, 'd');
  await stage.until('   d arrives: room is made, and held', {
    ledger: 81.33,
    held: 40,
    room: -26.23,
    limits: { a: 12.295, b: 21.475 },
    reasons: { d: 'MakingRoom' },
  });
  await stage.asks('d', { status: 503, retryAfterSeconds: 20, reason: 'MakingRoom' });
  await stage.until('   a sleeps, and d starts beside b that serves', {
    ledger: 82.66,
    held: 0,
    limits: { b: 20.367, d: 12.073 },
    phases: { a: 'SLEEPING', b: 'ACTIVE', c: 'SLEEPING', d: 'ACTIVE' },
  });
  await stage.asks('d', { status: 200 });
  await placedSoon(scene);
  await stage.serving([]);
  await b.stop();
  await wokenAgain(stage, 'd', { ledger: 82.66, limits: { b: 16.22, d: 16.22 } });
}

/** By the ledger's own clock: MakingRoom, a asleep (ledger 42.66), placed. */
async function placedSoon({ stage, note }: EightSteps): Promise<void> {
  const events = await stage.history('d');
  const making = events.find(({ to }) => to === 'MakingRoom');
  const placed = events.find(({ kind }) => kind === 'placed');
  const slept = (await stage.history('a')).findLast(({ kind, to }) => kind === 'sleep' && to === 'SLEEPING');
  const [, sleepText = ''] = /asleep after ([\d.]+) s/.exec(slept?.message ?? '') ?? [];
  const [, roomText = ''] = /room ([\d.]+) GiB/.exec(placed?.message ?? '') ?? [];
  if (making === undefined || placed === undefined || sleepText === '' || roomText === '') {
    throw new CliError(`expected: MakingRoom, asleep, placed with its room; seen: ${JSON.stringify(events)}`);
  }
  const seconds = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1000;
  const all = seconds(making.at, placed.at);
  const own = all - Number(sleepText);
  const afterSleep = seconds(slept?.at ?? placed.at, placed.at);
  const roomGib = Number(roomText) + HELD_GIB; // said while its own room was held
  note('placed', { seconds: all, sleepSeconds: Number(sleepText), afterSleepSeconds: afterSleep, roomGib });
  const ledger = gib((await stage.look()).gpu?.usableBytes ?? 0) - roomGib;
  stage.say(`   MakingRoom to placed: ${all.toFixed(2)} s; the engine slept in ${sleepText} s of it`);
  stage.say(
    `   placed ${afterSleep.toFixed(2)} s after the sleep: ledger ${gibText(ledger)}, room ${gibText(roomGib)}`,
  );
  if (Math.abs(ledger - 42.66) > 0.06) throw new CliError(`expected: a ledger of 42.66 GiB; seen: ${gibText(ledger)}`);
  if (own > PLACED_SECONDS_MAX) throw new CliError(`expected: at most 1 s beside the sleep; seen: ${own.toFixed(2)} s`);
}
