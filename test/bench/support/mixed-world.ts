import type { SnapshotNode, SnapshotPending, SnapshotRunning } from '../../../src/contract/snapshot.js';
import { GIB, quota, session, slots } from '../../scheduler/build.js';
import { at, type RoomShape, running } from '../../scheduler/build-running.js';
import { modelsOf } from './mixed-nodes.js';
import { type Random, seeded } from './random.js';

const PROJECTS = 8;
const USERS = 40;
const MIN_RUNTIMES = [0, 0, 300, 900, 3600];
const HOURS = [1, 2, 4, 8, 24, 72];

function owner(random: Random) {
  const user = random.int(USERS);
  return { userId: `usr_${user}`, projectId: `prj_${user % PROJECTS}`, domainId: 'dom_lab' };
}

/** Wide enough to hold all, as quotas of a group mostly are: each is looked at, and none refuses. */
export const wideQuotas = () => [
  ...Array.from({ length: USERS }, (_, n) => quota('user', { gpuCount: 100_000 }, {}, `usr_${n}`)),
  ...Array.from({ length: PROJECTS }, (_, n) => quota('project', { gpuCount: 100_000 }, {}, `prj_${n}`)),
  quota('domain', { sessions: 100_000 }),
];

/** Three sizes of what goes with a GPU. */
function gpuSlots(random: Random, gpus: number) {
  const size = 1 + random.int(3);
  return slots(gpus * 4 * size, gpus * 32 * size, gpus);
}

/** Half want one or two GPUs; the others four, eight, a share of one, none, or whole nodes together (2–8). */
function kernelsOf(random: Random) {
  const kind = random.int(100);
  const one = (each: ReturnType<typeof slots>) => ({ kernels: [each], clusterMode: 'single-node' as const });
  if (kind < 35) return one(gpuSlots(random, 1));
  if (kind < 50) return one(gpuSlots(random, 2));
  if (kind < 60) return one(gpuSlots(random, 4));
  if (kind < 72) return one(gpuSlots(random, 8));
  if (kind < 87) return one({ ...slots(4, 16), gpuMemoryBytes: random.pick([8, 12, 16, 20]) * GIB });
  if (kind < 92) return one(slots(random.pick([2, 8, 16]), random.pick([8, 32])));
  const each = gpuSlots(random, 8);
  const kernels = Array.from({ length: 2 + random.int(7) }, () => each);
  return { kernels, clusterMode: 'multi-node' as const };
}

interface Queue {
  readonly count: number;
  readonly shapes?: number;
  readonly priorities?: readonly number[];
}

/** Who waits: of five priorities, a third pins a model, four of five have a maximum runtime. */
export function mixedQueue({ count, shapes = 4, priorities = [0, 10, 20, 30, 40] }: Queue): SnapshotPending[] {
  const random = seeded(count);
  const queue = Array.from({ length: count }, (_, n) => {
    const asked = kernelsOf(random);
    const isShare = asked.kernels.some(({ gpuMemoryBytes }) => gpuMemoryBytes > 0);
    const asksGpus = asked.kernels.some(({ gpuCount }) => gpuCount > 0);
    return session(100_000 + n, {
      ...asked,
      ...owner(random),
      priority: random.pick(priorities),
      gpuModel: asksGpus && !isShare && random.chance(33) ? random.pick(modelsOf(shapes)) : null,
      minRuntimeSeconds: random.pick(MIN_RUNTIMES),
      maxRuntimeSeconds: random.chance(80) ? random.pick(HOURS) * 3600 : null,
      gracePeriodSeconds: random.pick([10, 30, 60]),
      preemptible: random.chance(80),
      image: `image-${random.int(6)}`,
    });
  });
  return queue.toSorted((a, b) => b.priority - a.priority || (a.submittedAt < b.submittedAt ? -1 : 1));
}

interface Filling {
  /** Devices of 100 that are taken. */
  readonly percent: number;
  readonly priorities?: readonly number[];
  /** Whole GPUs a session, one of these. */
  readonly gpus?: readonly number[];
  readonly preemptiblePercent?: number;
  /** Everybody has a maximum runtime: the start of everybody who waits has a bound. */
  readonly isBounded?: boolean;
  /** They run since five minutes up to this. */
  readonly sinceMinutes?: number;
}

/** Who runs: sessions side by side on each node until `percent` of its devices are taken. To be booked on the nodes. */
export function mixedRunning(nodes: readonly SnapshotNode[], filling: Filling): SnapshotRunning[] {
  const random = seeded(nodes.length);
  const sessions: SnapshotRunning[] = [];
  for (const { name, devices } of nodes) {
    let next = 0;
    const most = (devices.length * filling.percent) / 100;
    while (next < most) {
      const gpus = Math.min(random.pick(filling.gpus ?? [1, 1, 1, 2, 4, 8]), devices.length - next);
      const ids = devices.slice(next, next + gpus).map(({ id }) => id);
      next += gpus;
      const room = { node: name, devices: ids, slots: slots(4 * gpus, 32 * gpus, gpus) };
      sessions.push(oneRunning(random, sessions.length, { room, filling }));
    }
  }
  return sessions;
}

function oneRunning(random: Random, n: number, given: { readonly room: RoomShape; readonly filling: Filling }) {
  const { priorities = [0, 10, 20], preemptiblePercent = 80, isBounded = false, sinceMinutes = 600 } = given.filling;
  return running(n, {
    rooms: [given.room],
    ...owner(random),
    priority: random.pick(priorities),
    startedAt: at(-5 - random.int(sinceMinutes)),
    minRuntimeSeconds: random.pick(MIN_RUNTIMES),
    maxRuntimeSeconds: isBounded || random.chance(80) ? (10 + random.pick(HOURS)) * 3600 : null,
    gracePeriodSeconds: random.pick([10, 30, 60]),
    preemptible: random.chance(preemptiblePercent),
  });
}
