import { type SimulationCluster, type SimulationPolicy, simulationPolicySchema } from '../../contract/simulation.js';
import type { SimulationBudgets } from '../../contract/simulation-budgets.js';
import { type BudgetReport, budgetReport } from '../../simulator/budget-figures.js';
import { type BudgetPlan, budgetPlan } from '../../simulator/budget-plan.js';
import { type HostEmptying, hostEmptying } from '../../simulator/host-emptying.js';
import { onTerms, underBudgets } from '../../simulator/job-terms.js';
import { runSimulation, type SimulationResult } from '../../simulator/run-simulation.js';
import type { SimulatedJob } from '../../simulator/simulated-job.js';
import { offeredLoad, type Stream, StreamError } from '../../simulator/stream.js';
import { type Summary, summarize } from '../../simulator/summarize.js';
import { type ZeroSum, zeroSum } from '../../simulator/zero-sum.js';

export type NamedPolicy = SimulationPolicy & { readonly name: string };

export interface Comparison {
  readonly jobs: number;
  readonly gpuCount: number;
  readonly offeredLoad: number;
  readonly leftOut: readonly string[];
  readonly policies: readonly Compared[];
}

export interface Compared {
  readonly name: string;
  readonly policy: SimulationPolicy['policy'];
  readonly summary: Summary;
  readonly hosts: HostEmptying & { readonly limitHours: number };
  /** null: the policy and the cluster name no budgets. */
  readonly budgets: BudgetReport | null;
  /** Against the first policy; null for that one. */
  readonly zeroSum: ZeroSum | null;
}

/** A default policy, and the one that is named by nothing. */
export const PLAIN_POLICY: NamedPolicy = { ...simulationPolicySchema.parse({}), name: 'default' };
const HOUR_MS = 3_600_000;

export interface Question {
  readonly stream: Stream;
  readonly cluster: SimulationCluster;
  readonly policies: readonly NamedPolicy[];
  /** A host has to be empty so long after it is marked. */
  readonly drainHours: number;
  readonly untilHours?: number;
}

export function simulate(question: Question): {
  readonly comparison: Comparison;
  readonly results: readonly SimulationResult[];
} {
  const { stream, cluster, policies, drainHours, untilHours } = question;
  const grounds = policies.map((one) => groundOf(one, question));
  const results = policies.map(({ policy }, index) =>
    runSimulation({
      nodes: cluster.nodes,
      jobs: grounds[index]?.jobs ?? [],
      budgets: grounds[index]?.plan ?? null,
      policy,
      ...(untilHours !== undefined && { untilMs: untilHours * HOUR_MS }),
    }),
  );
  const [first] = results;
  const gpuCount = first?.gpuCount ?? 0;
  return {
    results,
    comparison: {
      jobs: stream.jobs.length,
      gpuCount,
      offeredLoad: offeredLoad(stream.jobs, gpuCount),
      leftOut: stream.leftOut,
      policies: results.map((result, index) => ({
        name: policies[index]?.name ?? '',
        policy: policies[index]?.policy ?? PLAIN_POLICY.policy,
        summary: summarize(result),
        hosts: { limitHours: drainHours, ...hostEmptying(result, drainHours) },
        budgets: reportOf(result, grounds[index]),
        zeroSum: index === 0 || first === undefined ? null : zeroSum(first, result),
      })),
    },
  };
}

interface Ground {
  readonly jobs: readonly SimulatedJob[];
  readonly plan: BudgetPlan | null;
  readonly isFairShare: boolean;
}

/** The jobs on the terms of a policy, and its budgets, or the cluster's. */
function groundOf({ name, policy, jobs: terms, budgets }: NamedPolicy, { stream, cluster }: Question): Ground {
  const jobs = onTerms(stream.jobs, terms);
  const isFairShare = policy.order === 'fair-share';
  const settings: SimulationBudgets | undefined = budgets ?? cluster.budgets;
  if (settings === undefined) {
    if (isFairShare)
      throw new StreamError(`policy ${name}: order fair-share needs "budgets:", there or in the cluster's file`);
    return { jobs, plan: null, isFairShare };
  }
  const plan = budgetPlan(settings, { nodes: cluster.nodes, owners: jobs });
  return { jobs: isFairShare ? underBudgets(jobs, plan) : jobs, plan, isFairShare };
}

const reportOf = ({ outcomes }: SimulationResult, ground: Ground | undefined): BudgetReport | null => {
  if (ground === undefined || ground.plan === null) return null;
  return budgetReport(outcomes, ground.plan, ({ minRuntimeMs }) => !ground.isFairShare || minRuntimeMs > 0);
};
