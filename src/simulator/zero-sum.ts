import type { SimulationResult } from './run-simulation.js';
import type { JobOutcome } from './simulated-job.js';
import { heldGpuMs, type Window, windowOf } from './summarize.js';

/** Two policies on one stream: GPU time is moved from one to another, or the GPUs were held for longer. GPU hours. */
export interface ZeroSum {
  /** By project: what it held under the second more than under the first, while jobs came. */
  readonly changes: readonly { readonly project: string; readonly gpuHours: number }[];
  readonly gains: number;
  readonly losses: number;
  /** Of the integral of the GPUs that were held, counted apart from the jobs. */
  readonly occupancyChange: number;
  /** gains − losses − occupancyChange; rounding aside, 0. */
  readonly remainder: number;
  readonly holds: boolean;
}

const GPU_MS_A_GPU_HOUR = 3_600_000;

export function zeroSum(before: SimulationResult, after: SimulationResult): ZeroSum {
  const window = windowOf(before.outcomes);
  const held = (result: SimulationResult): ReadonlyMap<string, number> => heldByProject(result.outcomes, window);
  const [first, second] = [held(before), held(after)];
  const changes = [...new Set([...first.keys(), ...second.keys()])].toSorted().map((project) => ({
    project,
    gpuHours: ((second.get(project) ?? 0) - (first.get(project) ?? 0)) / GPU_MS_A_GPU_HOUR,
  }));
  const gains = changes.reduce((sum, { gpuHours }) => sum + Math.max(0, gpuHours), 0);
  const losses = changes.reduce((sum, { gpuHours }) => sum + Math.max(0, -gpuHours), 0);
  const occupancyChange = (after.occupancy.integral(window) - before.occupancy.integral(window)) / GPU_MS_A_GPU_HOUR;
  const remainder = gains - losses - occupancyChange;
  return {
    changes,
    gains,
    losses,
    occupancyChange,
    remainder,
    holds: Math.abs(remainder) < 1e-6 * (1 + gains + losses),
  };
}

function heldByProject(outcomes: readonly JobOutcome[], window: Window): ReadonlyMap<string, number> {
  const held = new Map<string, number>();
  for (const outcome of outcomes)
    held.set(outcome.job.project, (held.get(outcome.job.project) ?? 0) + heldGpuMs([outcome], window));
  return held;
}
