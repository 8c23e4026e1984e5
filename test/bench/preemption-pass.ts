import { pathToFileURL } from 'node:url';
import type { Snapshot } from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { NOW, node, session, slots, snapshot } from '../scheduler/build.js';
import { at, booked, running } from '../scheduler/build-running.js';
import { preemptionPolicy } from '../scheduler/victims-case.js';

/**
 * The whole pure pass where somebody has to be stopped, one thread, CPU time. `floorMs` is a pass over the same nodes and
 * sessions in which preemption is off.
 */
export interface PreemptionRow {
  readonly case: string;
  readonly measuredMs: number;
  readonly targetMs: number;
  readonly met: boolean;
  readonly coldMs: number;
  readonly floorMs: number;
  readonly stopped: number;
  readonly held: number;
}

const WARM_UPS = 10;
const RUNS = 9;
const GPUS = 8;

function cpuMs(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

function medianMs(work: () => unknown): number {
  for (let i = 0; i < WARM_UPS; i += 1) work();
  const times = Array.from({ length: RUNS }, () => cpuMs(work)).toSorted((a, b) => a - b);
  return times[Math.floor(RUNS / 2)] ?? Number.NaN;
}

/** Full of one-GPU sessions, in the order of their start spread over the nodes: no node is emptied by the newest alone. */
function full(nodeCount: number, pending: Snapshot['pending'], isEnabled = true): Snapshot {
  const name = (i: number): string => `node-${String(i).padStart(4, '0')}`;
  const sessions = Array.from({ length: nodeCount * GPUS }, (_, n) => {
    const on = name((n * 7919) % nodeCount);
    const devices = [`${on}-${Math.floor(n / nodeCount)}`];
    return running(n, { rooms: [{ node: on, devices, slots: slots(8, 64, 1) }], startedAt: at(-60 - n / 60) });
  });
  const nodes = Array.from({ length: nodeCount }, (_, i) => node(name(i), { cpu: 128, gib: 1024, gpus: GPUS }));
  const policy = { backfill: 'easy' as const, preemption: preemptionPolicy({ enabled: isEnabled }) };
  return snapshot({ nodes: booked(nodes, sessions), pending, running: sessions, policy });
}

const gang = (n: number, kernels: number, cpu = 64) =>
  session(100_000 + n, {
    kernels: Array.from({ length: kernels }, (_, k) => slots(k === 0 ? cpu : 64, 512, GPUS)),
    clusterMode: 'multi-node',
    priority: 50,
  });
const small = (count: number, priority: number) =>
  Array.from({ length: count }, (_, n) => session(200_000 + n, { kernels: [slots(8, 64, 1 + (n % 8))], priority }));

function measure(title: string, targetMs: number, given: (isEnabled: boolean) => Snapshot): PreemptionRow {
  const snap = given(true);
  const coldMs = cpuMs(() => planPass(snap, NOW));
  const measuredMs = medianMs(() => planPass(snap, NOW));
  const off = given(false);
  const floorMs = medianMs(() => planPass(off, NOW));
  const plan = planPass(snap, NOW);
  const counts = { stopped: plan.stops.length, held: plan.holds.length };
  return { case: title, measuredMs, targetMs, met: measuredMs <= targetMs, coldMs, floorMs, ...counts };
}

export async function run(): Promise<{ readonly name: string; readonly rows: readonly PreemptionRow[] }> {
  const rows = [
    measure('a gang of 20 whole nodes displaces 160 of 1600 on 200 nodes', 50, (on) => full(200, [gang(0, 20)], on)),
    measure('the same, its main kernel differs', 50, (on) => full(200, [gang(0, 20, 72)], on)),
    measure('2048 wait in vain, 128 full nodes', 60, (on) => full(128, small(2048, 10), on)),
    measure('2048 wait, 128 nodes full of lower priority', 250, (on) => full(128, small(2048, 50), on)),
  ];
  return { name: 'preemption-pass', rows };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const result = await run();
  console.table(
    result.rows.map((row) => ({ ...row, measuredMs: Math.round(row.measuredMs), floorMs: Math.round(row.floorMs) })),
  );
  console.log(JSON.stringify(result));
}
