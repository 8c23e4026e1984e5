import { type GroupPolicy, groupPolicySchema } from '../../src/contract/group-policy.js';
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
