import { pathToFileURL } from 'node:url';
import type { Snapshot } from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { NOW, node, quota, session, slots, snapshot } from '../scheduler/build.js';
import { referencePlan } from '../scheduler/reference.js';
import { cpuMs, medianCpuMs } from './support/cpu-time.js';
import { readOnce } from './support/read-once.js';

/**
 * The pure pass, one thread, CPU time. `floorMs` is the least that any pass must do with the same input: it reads
 * each node, device and session once. `referenceMs` is the obvious implementation, once, where that is bearable.
 */
export interface PassRow {
  readonly case: string;
  readonly measuredMs: number;
  readonly targetMs: number;
  readonly met: boolean;
  readonly coldMs: number;
  readonly floorMs: number;
  readonly referenceMs: number | null;
  readonly placed: number;
  readonly skipped: number;
}

const RUNS = 15;

/** Requests of 1–8 GPUs in a fixed mixed order. */
const gpusOf = (n: number): number => 1 + ((n * 5 + (n >> 3)) % 8);
const nodes = (count: number, held: number) =>
  Array.from({ length: count }, (_, i) =>
    node(`node-${String(i).padStart(4, '0')}`, { cpu: 128, gib: 1024, gpus: 8, held, model: 'H200' }),
  );
const pending = (count: number) =>
  Array.from({ length: count }, (_, n) => session(n, { kernels: [slots(8, 64, gpusOf(n))] }));
const quotas = [
  quota('user', { gpuCount: 10_000 }),
  quota('project', { gpuCount: 10_000 }),
  quota('domain', { sessions: 100_000 }),
];
const input = (sessions: number, held: number) =>
  snapshot({ nodes: nodes(1000, held), pending: pending(sessions), quotas });

function measure(
  title: string,
  targetMs: number,
  given: { readonly snapshot: Snapshot; readonly withReference: boolean },
): PassRow {
  const coldMs = cpuMs(() => planPass(given.snapshot, NOW));
  const measuredMs = medianCpuMs(() => planPass(given.snapshot, NOW), RUNS);
  const floorMs = medianCpuMs(() => readOnce(given.snapshot), RUNS);
  const referenceMs = given.withReference ? cpuMs(() => referencePlan(given.snapshot)) : null;
  const plan = planPass(given.snapshot, NOW);
  const counts = { placed: plan.placed.length, skipped: plan.skipped };
  return { case: title, measuredMs, targetMs, met: measuredMs <= targetMs, coldMs, floorMs, referenceMs, ...counts };
}

export async function run(): Promise<{ readonly name: string; readonly rows: readonly PassRow[] }> {
  const rows = [
    measure('1000 pending × 1000 nodes, all fit', 60, { snapshot: input(1000, 0), withReference: true }),
    measure('10000 pending × 1000 nodes, until blocked', 150, { snapshot: input(10_000, 0), withReference: true }),
    measure('10000 pending × 1000 nodes, everything taken', 5, { snapshot: input(10_000, 8), withReference: true }),
  ];
  return { name: 'scheduler-pass', rows };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const result = await run();
  console.table(
    Object.fromEntries(
      result.rows.map(({ case: title, ...row }) => [
        title,
        Object.fromEntries(
          Object.entries(row).map(([key, value]) => [
            key,
            typeof value === 'number' ? Number(value.toFixed(2)) : value,
          ]),
        ),
      ]),
    ),
  );
  console.log(JSON.stringify(result));
}
