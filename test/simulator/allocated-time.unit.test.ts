import { expect, test } from 'vitest';
import { generatorSchema } from '../../src/contract/simulation.js';
import { budgetReport } from '../../src/simulator/budget-figures.js';
import { generateJobs } from '../../src/simulator/generate-jobs.js';
import { underBudgets } from '../../src/simulator/job-terms.js';
import { budgets, HOUR, nodes, policy, run } from './build.js';

/** A small version of the case of 150 users: `test/bench/fair-share-cases.ts` has the large ones. */
test('users who keep asking for 2.5 times what there is each get their allocated time within the window', () => {
  const [users, windowHours, minRuntimeHours, largestGpus] = [5, 12, 0.5, 4];
  const settings = generatorSchema.parse({
    ...{
      jobs: 190,
      load: 2.5,
      seed: 3,
      resumable: 1,
      maxRuntimeFactor: null,
      minRuntimeSeconds: minRuntimeHours * 3600,
    },
    projects: [{ name: 'research', users }],
    sizes: [1, 2, largestGpus].map((gpus) => ({ gpus, weight: 1 / gpus })),
    duration: { medianSeconds: 7200, sigma: 0.6, maxSeconds: 28_800 },
  });
  const shapes = nodes(1);
  const made = generateJobs(settings, 8);
  const plan = budgets(made, { shapes, each: 'user', windowSeconds: windowHours * 3600 });
  const jobs = underBudgets(made, plan);
  const lastMs = Math.max(...jobs.map(({ submittedMs }) => submittedMs));
  expect(lastMs).toBeGreaterThan(2 * windowHours * HOUR);
  const { outcomes } = run(jobs, {
    nodes: shapes,
    policy: policy({ order: 'fair-share' }),
    budgets: plan,
    untilMs: lastMs,
  });
  const report = budgetReport(outcomes, plan, ({ minRuntimeMs }) => minRuntimeMs > 0);
  const leaves = report.budgets.filter(({ isLeaf }) => isLeaf);
  expect(leaves).toHaveLength(users);
  const onePass = largestGpus * (600 / 3600);
  for (const { lastWindow } of leaves) {
    const off = Math.abs((lastWindow?.usedGpuHours ?? 0) - (lastWindow?.allocatedGpuHours ?? 0));
    expect(off).toBeLessThanOrEqual(largestGpus * minRuntimeHours + onePass);
  }
  expect(report.pyramid.occupancy).toBeGreaterThan(0.95);
}, 60_000);
