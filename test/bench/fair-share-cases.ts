import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { groupPolicySchema } from '../../src/contract/group-policy.js';
import { generatorSchema } from '../../src/contract/simulation.js';
import { simulationBudgetsSchema } from '../../src/contract/simulation-budgets.js';
import { type BudgetFigures, budgetReport } from '../../src/simulator/budget-figures.js';
import { budgetPlan } from '../../src/simulator/budget-plan.js';
import { generateJobs } from '../../src/simulator/generate-jobs.js';
import { underBudgets } from '../../src/simulator/job-terms.js';
import { runSimulation } from '../../src/simulator/run-simulation.js';
import type { SimulatedJob } from '../../src/simulator/simulated-job.js';
import { info, type Result, type Row } from './support/report.js';

export interface FairShareCase {
  readonly gpus: number;
  readonly users: number;
  readonly windowHours: number;
  readonly minRuntimeHours: number;
  readonly load: number;
}

/** GPU hours; `off` is the farthest that any user is from his allocated time at the end of the second window. */
export interface FairShareRow extends FairShareCase {
  readonly jobs: number;
  readonly passes: number;
  readonly cpuSeconds: number;
  readonly allocated: number;
  readonly off: number;
  readonly bound: number;
  readonly met: boolean;
  readonly occupancy: number | null;
}

const LARGEST_GPUS = 8;
const MEAN_GPU_HOURS = 18;
const ONE_PASS_HOURS = 600 / 3600;

/** Users who ask for several times what there is through two windows, each at any time; one budget each, all of one weight. */
export function measureCase(given: FairShareCase): FairShareRow {
  const { gpus, users, windowHours, minRuntimeHours, load } = given;
  const nodes = [{ count: gpus / 8, prefix: 'node', gpus: 8, gpuModel: 'simulated' }];
  const settings = generatorSchema.parse({
    ...{ seed: 3, load, resumable: 1, maxRuntimeFactor: null, minRuntimeSeconds: minRuntimeHours * 3600 },
    jobs: Math.ceil((2 * windowHours * gpus * load) / MEAN_GPU_HOURS) + BACKLOG * users,
    projects: [{ name: 'research', users }],
    sizes: [50, 20, 20, 10].map((weight, k) => ({ gpus: 2 ** k, weight })),
    duration: { medianSeconds: 21_600, sigma: 0.8, maxSeconds: 172_800 },
  });
  const made = alwaysAsking(generateJobs(settings, gpus), given);
  const budgets = budgetPlan(simulationBudgetsSchema.parse({ each: 'user', windowSeconds: windowHours * 3600 }), {
    nodes,
    owners: made,
  });
  const jobs = underBudgets(made, budgets);
  const untilMs = 2 * windowHours * 3_600_000;
  const policy = groupPolicySchema.parse({ order: 'fair-share', placement: 'best-fit-devices' });
  const cpu = process.cpuUsage();
  const { outcomes, passes } = runSimulation({ nodes, jobs, policy, budgets, untilMs });
  const { user, system } = process.cpuUsage(cpu);
  const report = budgetReport(outcomes, budgets, ({ minRuntimeMs }) => minRuntimeMs > 0);
  const off = report.budgets.filter(({ isLeaf }) => isLeaf).reduce((most, one) => Math.max(most, offOf(one)), 0);
  const bound = LARGEST_GPUS * (minRuntimeHours + ONE_PASS_HOURS);
  return {
    ...given,
    ...{ jobs: jobs.length, passes, off, bound, met: off <= bound },
    cpuSeconds: (user + system) / 1e6,
    allocated: (gpus * windowHours) / users,
    occupancy: report.pyramid.occupancy,
  };
}

/** Jobs that each user has waiting from the first moment on. */
const BACKLOG = 3;

/**
 * The same jobs dealt out to the users in turn. Each comes when those of its user before it, but for the last few, ask for
 * `load` times his share up to then: so that everybody always has one waiting, which the bound takes for granted.
 */
function alwaysAsking(jobs: readonly SimulatedJob[], { gpus, users, load }: FairShareCase): readonly SimulatedJob[] {
  const asked = new Map<string, number[]>();
  return jobs.map((job, index): SimulatedJob => {
    const user = `user-${String((index % users) + 1).padStart(4, '0')}`;
    const sums = asked.get(user) ?? [0];
    asked.set(user, [...sums, (sums.at(-1) ?? 0) + job.gpus * job.durationMs]);
    const workMs = sums.at(-BACKLOG) ?? 0;
    return { ...job, user, submittedMs: Math.round(workMs / ((load * gpus) / users)) };
  });
}

const offOf = ({ lastWindow, usedGpuHours, allocatedGpuHours }: BudgetFigures): number =>
  lastWindow === null
    ? Math.abs(usedGpuHours - allocatedGpuHours)
    : Math.abs(lastWindow.usedGpuHours - lastWindow.allocatedGpuHours);

/** Ai2's case at a size that is done in a minute or two; the larger ones are run by hand, with flags. */
export async function run(): Promise<Result> {
  const row = measureCase({ gpus: 88, users: 150, windowHours: 24, minRuntimeHours: 1, load: 2.5 });
  const name = '150 users at 2.5 × on 88 GPUs, two windows of 24 h';
  const rows: Row[] = [
    info({ name, measured: row.cpuSeconds, unit: 's' }),
    info({ name: `${name}: farthest from allocated time`, measured: row.off, floor: row.bound, unit: 'GPU h' }),
  ];
  const notes = [
    `${row.jobs} jobs, ${row.passes} passes, allocated ${row.allocated.toFixed(2)} GPU h each; the floor is the bound`,
  ];
  return Promise.resolve({ name: 'fair-share-cases', rows, notes });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const number = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { gpus: number, users: number, window: number, min: number, load: number },
  });
  const row = measureCase({
    gpus: Number(values.gpus ?? 88),
    users: Number(values.users ?? 150),
    windowHours: Number(values.window ?? 168),
    minRuntimeHours: Number(values.min ?? 1),
    load: Number(values.load ?? 2.5),
  });
  console.log(JSON.stringify(row, null, 2));
}
