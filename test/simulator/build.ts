import { type GroupPolicy, groupPolicySchema } from '../../src/contract/group-policy.js';
import { simulationBudgetsSchema } from '../../src/contract/simulation-budgets.js';
import { type BudgetPlan, budgetPlan } from '../../src/simulator/budget-plan.js';
import { underBudgets } from '../../src/simulator/job-terms.js';
import { runSimulation, type SimulationInput, type SimulationResult } from '../../src/simulator/run-simulation.js';
import type { SimulatedJob } from '../../src/simulator/simulated-job.js';
import { PLAIN_JOB } from '../../src/simulator/stream.js';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** One kernel of one GPU for an hour, from the begin on, whose bound is known. */
export const job = (name: string, given: Partial<SimulatedJob> = {}): SimulatedJob => ({
  ...PLAIN_JOB,
  name,
  user: 'ann',
  project: 'research',
  submittedMs: 0,
  durationMs: HOUR,
  gpus: 1,
  maxRuntimeMs: given.durationMs ?? HOUR,
  ...given,
});

export const policy = (given: object = {}): GroupPolicy => groupPolicySchema.parse({ decay: { by: 'off' }, ...given });

/** So many nodes of 8 GPUs. */
export const nodes = (count: number, gpus = 8): SimulationInput['nodes'] => [
  { count, prefix: 'node', gpus, gpuModel: 'simulated' },
];

/** Start of each job in hours; null: it did not start. */
export const starts = ({ outcomes }: SimulationResult): Record<string, number | null> =>
  Object.fromEntries(
    outcomes.map((one) => [one.job.name, one.startedMs === null ? null : one.startedMs / HOUR] as const),
  );

export const run = (jobs: readonly SimulatedJob[], given: Partial<SimulationInput> = {}): SimulationResult =>
  runSimulation({ nodes: nodes(1), policy: policy(), ...given, jobs });

/** Budgets of a cluster; one of equal weight for each project when nothing else is said. */
export const budgets = (
  jobs: readonly SimulatedJob[],
  { shapes, ...given }: { readonly shapes: SimulationInput['nodes'] } & Record<string, unknown>,
): BudgetPlan =>
  budgetPlan(simulationBudgetsSchema.parse({ each: 'project', ...given }), { nodes: shapes, owners: jobs });

/** The jobs under the order `fair-share`, on the terms of their budgets. */
export function runFairly(
  jobs: readonly SimulatedJob[],
  { nodes: shapes, ...given }: Pick<SimulationInput, 'nodes'> & Record<string, unknown>,
): SimulationResult {
  const plan = budgets(jobs, { shapes, ...given });
  return run(underBudgets(jobs, plan), { nodes: shapes, policy: policy({ order: 'fair-share' }), budgets: plan });
}
