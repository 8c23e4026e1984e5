import type { SimulationPolicy } from '../contract/simulation.js';
import type { BudgetPlan } from './budget-plan.js';
import type { SimulatedJob } from './simulated-job.js';

/** The jobs of a stream on the terms of a policy file. A minimum runtime is never above the bound of the job. */
export function onTerms(jobs: readonly SimulatedJob[], terms: SimulationPolicy['jobs']): readonly SimulatedJob[] {
  return jobs.map((job) => {
    const maxRuntimeMs = boundOf(job, terms);
    const minRuntimeMs = terms.minRuntimeSeconds === undefined ? job.minRuntimeMs : msOf(terms.minRuntimeSeconds);
    return {
      ...job,
      maxRuntimeMs,
      minRuntimeMs: Math.min(minRuntimeMs, maxRuntimeMs ?? Number.POSITIVE_INFINITY),
      priority: terms.priority ?? job.priority,
      preemptible: terms.preemptible ?? job.preemptible,
      resumable: terms.resumable ?? job.resumable,
      checkpointMs: terms.checkpointSeconds === undefined ? job.checkpointMs : msOf(terms.checkpointSeconds),
    };
  });
}

/** Under budgets everything may be stopped after its minimum, which is cut to what its leaf bears; without a leaf it has none. */
export const underBudgets = (jobs: readonly SimulatedJob[], plan: BudgetPlan): readonly SimulatedJob[] =>
  jobs.map((job) => ({
    ...job,
    preemptible: true,
    minRuntimeMs: plan.leafOf(job) === null ? 0 : Math.min(job.minRuntimeMs, plan.largestMinRuntimeMs(job)),
  }));

const msOf = (seconds: number): number => Math.round(seconds * 1000);

function boundOf({ durationMs, maxRuntimeMs }: SimulatedJob, terms: SimulationPolicy['jobs']): number | null {
  const { maxRuntime, maxRuntimeFactor } = terms;
  const bound = maxRuntime === 'duration' ? durationMs : maxRuntime === 'none' ? null : maxRuntimeMs;
  return bound === null ? null : Math.round(bound * maxRuntimeFactor);
}
