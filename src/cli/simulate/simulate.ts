import { type SimulationCluster, type SimulationPolicy, simulationPolicySchema } from '../../contract/simulation.js';
import { type HostEmptying, hostEmptying } from '../../simulator/host-emptying.js';
import { onTerms } from '../../simulator/job-terms.js';
import { runSimulation, type SimulationResult } from '../../simulator/run-simulation.js';
import { offeredLoad, type Stream } from '../../simulator/stream.js';
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
  const results = policies.map(({ policy, jobs }) =>
    runSimulation({
      nodes: cluster.nodes,
      jobs: onTerms(stream.jobs, jobs),
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
        zeroSum: index === 0 || first === undefined ? null : zeroSum(first, result),
      })),
    },
  };
}
