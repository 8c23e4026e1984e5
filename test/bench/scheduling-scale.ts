import { fileURLToPath } from 'node:url';
import type { Snapshot } from '../../src/contract/snapshot.js';
import type * as scheduler from '../../src/scheduler/plan-pass.js';
import { NOW } from '../scheduler/build.js';
import { asShipped } from './support/as-shipped.js';
import { cpuMs, medianCpuMs } from './support/cpu-time.js';
import { fairShareCase, settled } from './support/fair-share-case.js';
import { readOnce } from './support/read-once.js';
import { atMost, info, type Result, type Row } from './support/report.js';
import { backfilled, gangOf20, gangOf20Alike, mixed, queueOver } from './support/scale-cases.js';

/**
 * The pure pass with everything of issue 4 in use, one thread, CPU time, the median of `RUNS` after as many to warm up. The floor is
 * measured beside each row: JSON.parse of the same snapshot, the least that hands a pass its input.
 */
const RUNS = 7;

const CASES: readonly { readonly name: string; readonly limitMs: number; readonly input: () => Snapshot }[] = [
  { name: '128 × 8 GPUs, 2048 wait, all free', limitMs: 60, input: () => mixed({ nodes: 128, pending: 2048 }) },
  {
    name: '128 × 8 GPUs, 2048 wait, 85 % taken',
    limitMs: 60,
    input: () => mixed({ nodes: 128, pending: 2048, percent: 85 }),
  },
  {
    name: '128 × 8 GPUs, 2048 wait, full',
    limitMs: 60,
    input: () => mixed({ nodes: 128, pending: 2048, percent: 100 }),
  },
  { name: '500 × 8 GPUs, 4000 wait, all free', limitMs: 250, input: () => mixed({ nodes: 500, pending: 4000 }) },
  {
    name: '500 × 8 GPUs, 4000 wait, 85 % taken',
    limitMs: 250,
    input: () => mixed({ nodes: 500, pending: 4000, percent: 85 }),
  },
  {
    name: '500 × 8 GPUs, 4000 wait, full',
    limitMs: 250,
    input: () => mixed({ nodes: 500, pending: 4000, percent: 100 }),
  },
  { name: 'a gang of 20 displaces 160 of 1600', limitMs: 50, input: () => gangOf20(64) },
  { name: 'the same, its main kernel differs', limitMs: 50, input: () => gangOf20(72) },
  { name: 'a gang of 20 displaces 160 of 1600 alike', limitMs: 50, input: () => gangOf20Alike(64) },
  { name: 'the same, its main kernel differs, alike', limitMs: 50, input: () => gangOf20Alike(72) },
  { name: '128 full nodes, 2048 of higher priority wait', limitMs: 60, input: () => queueOver(50) },
  { name: '128 full nodes, 2048 of no higher priority wait', limitMs: 60, input: () => queueOver(10) },
  { name: 'easy, 1000 wait on 1000 nodes', limitMs: 500, input: () => backfilled('easy', false) },
  { name: 'conservative, 1000 wait on 1000 nodes', limitMs: 500, input: () => backfilled('conservative', false) },
  { name: 'conservative with preemption, the same', limitMs: 500, input: () => backfilled('conservative', true) },
  {
    name: 'fair-share pass, 128 nodes × 8 GPUs, 2048 pending, 200 budgets on 4 levels, nobody starts or stops',
    limitMs: 80,
    input: () => settled(fairShareCase({ nodes: 128, pending: 2600, percent: 100 }), 2048),
  },
  {
    name: 'fair-share pass, the same, hundreds have to give way at once',
    limitMs: 80,
    input: () => fairShareCase({ nodes: 128, pending: 2048, percent: 100 }),
  },
  {
    name: 'fair-share pass, the same, all free',
    limitMs: 80,
    input: () => fairShareCase({ nodes: 128, pending: 2048, percent: 0 }),
  },
];

type Scheduler = typeof scheduler;
type PlanPass = Scheduler['planPass'];

function look(planPass: PlanPass, input: Snapshot) {
  const coldMs = cpuMs(() => planPass(input, NOW));
  const ms = medianCpuMs(() => planPass(input, NOW), RUNS);
  const text = JSON.stringify(input);
  const parseMs = medianCpuMs(() => JSON.parse(text), 5);
  const readMs = medianCpuMs(() => readOnce(input), 5);
  const plan = planPass(input, NOW);
  const counts = `placed ${plan.placed.length}, waiting ${plan.waiting.length}, skipped ${plan.skipped}, stops ${plan.stops.length}, holds ${plan.holds.length}, reservations ${plan.reservations.length}`;
  return { ms, parseMs, note: `cold ${coldMs.toFixed(0)} ms, read ${readMs.toFixed(2)} ms; ${counts}` };
}

/** `--only=curve`: the rows whose name has this in it. */
const only = process.argv.find((word) => word.startsWith('--only='))?.slice('--only='.length) ?? '';
const isWanted = (name: string): boolean => name.includes(only);

/** CPU time against pending × distinct node shapes: near-linear where the last column of the notes stays near 1. */
function curve(planPass: PlanPass): { readonly rows: readonly Row[]; readonly notes: readonly string[] } {
  const rows: Row[] = [];
  const notes: string[] = [];
  const points = [
    ...[500, 1000, 2000, 4000, 8000].map((pending) => ({ pending, shapes: 4 })),
    ...[1, 2, 4, 8, 16, 32].map((shapes) => ({ pending: 2000, shapes })),
  ];
  let before: { readonly work: number; readonly ms: number } | null = null;
  for (const { pending, shapes } of points) {
    const input = mixed({ nodes: 256, pending, shapes, percent: 85 });
    const ms = medianCpuMs(() => planPass(input, NOW), RUNS);
    const name = `curve: ${pending} wait × ${shapes} node shapes, 256 nodes`;
    rows.push(info({ name, measured: ms, unit: 'ms' }));
    const work = pending * shapes;
    const against =
      before === null || work <= before.work
        ? ''
        : `; work × ${(work / before.work).toFixed(1)}, time × ${(ms / before.ms).toFixed(2)}`;
    notes.push(`${name}: ${((ms * 1000) / pending).toFixed(1)} µs a session${against}`);
    before = { work, ms };
  }
  return { rows, notes };
}

export async function run(): Promise<Result> {
  const source = fileURLToPath(new URL('../../src/scheduler/plan-pass.ts', import.meta.url));
  const { planPass } = await asShipped<Scheduler>(source);
  const rows: Row[] = [];
  const notes = ['CPU time of one thread, of the pass as it is built; the floor is JSON.parse of the same snapshot'];
  for (const { name, limitMs, input } of CASES.filter((each) => isWanted(each.name))) {
    const { ms, parseMs, note } = look(planPass, input());
    rows.push(atMost({ name, measured: ms, floor: parseMs, unit: 'ms' }, limitMs));
    notes.push(`${name}: ${note}`);
  }
  if (!isWanted('curve')) return { name: 'scheduling-scale', rows, notes };
  const grown = curve(planPass);
  return { name: 'scheduling-scale', rows: [...rows, ...grown.rows], notes: [...notes, ...grown.notes] };
}
