import type { Snapshot } from '../../../src/contract/snapshot.js';
import { node, session, slots, snapshot } from '../../scheduler/build.js';
import { at, booked, running } from '../../scheduler/build-running.js';
import { preemptionPolicy } from '../../scheduler/victims-case.js';
import { mixedNodes } from './mixed-nodes.js';
import { mixedQueue, mixedRunning, wideQuotas } from './mixed-world.js';

type Policy = Partial<Snapshot['group']['policy']>;

/** Shares, gangs, preemption and backfill are all in use. */
export const ALL_ON: Policy = { backfill: 'easy', preemption: preemptionPolicy() };

interface Mixed {
  readonly nodes: number;
  readonly pending: number;
  /** Devices of 100 that are taken. */
  readonly percent?: number;
  readonly shapes?: number;
  readonly policy?: Policy;
  readonly runningPriorities?: readonly number[];
  readonly waitingPriorities?: readonly number[];
  readonly isBounded?: boolean;
}

/** Mixed nodes, partly taken, and a mixed queue. */
export function mixed(given: Mixed): Snapshot {
  const { shapes = 4, percent = 0, policy = ALL_ON, isBounded = false } = given;
  const empty = mixedNodes(given.nodes, shapes);
  const busy = mixedRunning(empty, { percent, isBounded, priorities: given.runningPriorities ?? [0, 10, 20] });
  const pending = mixedQueue({
    count: given.pending,
    shapes,
    ...(given.waitingPriorities === undefined ? {} : { priorities: given.waitingPriorities }),
  });
  return snapshot({ nodes: booked(empty, busy), running: busy, pending, quotas: wideQuotas(), policy });
}

/** Conservative or easy backfill with nothing free: everybody who runs has a bound, so that nobody stops the pass. */
export const backfilled = (backfill: 'easy' | 'conservative', preempts: boolean): Snapshot =>
  mixed({
    nodes: 1000,
    pending: 1000,
    percent: 100,
    isBounded: true,
    policy: preempts ? { backfill, preemption: preemptionPolicy() } : { backfill },
    ...(preempts ? { runningPriorities: [20, 30], waitingPriorities: [0, 10, 20, 30] } : {}),
  });

const gang = (mainCpu: number) =>
  session(900_000, {
    kernels: Array.from({ length: 20 }, (_, k) => slots(k === 0 ? mainCpu : 64, 512, 8)),
    clusterMode: 'multi-node',
    priority: 50,
  });

/** 200 nodes full of one-GPU sessions of mixed owners, priorities and minimum runtimes; a gang wants 20 nodes whole. */
export function gangOf20(mainCpu: number): Snapshot {
  const empty = mixedNodes(200);
  const busy = mixedRunning(empty, { percent: 100, gpus: [1], preemptiblePercent: 100 });
  return snapshot({
    nodes: booked(empty, busy),
    running: busy,
    pending: [gang(mainCpu)],
    quotas: wideQuotas(),
    policy: ALL_ON,
  });
}

/** The same with everything alike, in the order of their start spread over the nodes: no node is emptied by the newest alone. */
export const gangOf20Alike = (mainCpu: number): Snapshot => alike(200, [gang(mainCpu)]);

/** 128 nodes full of one-GPU sessions, and 2048 that want 1–8 GPUs, of one priority, above or at those that run. */
export const queueOver = (priority: number): Snapshot =>
  alike(
    128,
    Array.from({ length: 2048 }, (_, n) => session(200_000 + n, { kernels: [slots(8, 64, 1 + (n % 8))], priority })),
  );

function alike(count: number, pending: Snapshot['pending']): Snapshot {
  const name = (i: number): string => `node-${String(i).padStart(4, '0')}`;
  const busy = Array.from({ length: count * 8 }, (_, n) => {
    const on = name((n * 7919) % count);
    const room = { node: on, devices: [`${on}-${Math.floor(n / count)}`], slots: slots(8, 64, 1) };
    return running(n, { rooms: [room], startedAt: at(-60 - n / 60) });
  });
  const nodes = Array.from({ length: count }, (_, i) => node(name(i), { cpu: 128, gib: 1024, gpus: 8 }));
  return snapshot({ nodes: booked(nodes, busy), running: busy, pending, policy: ALL_ON });
}
