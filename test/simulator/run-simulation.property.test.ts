import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { generatorSchema } from '../../src/contract/simulation.js';
import { generateJobs } from '../../src/simulator/generate-jobs.js';
import { underBudgets } from '../../src/simulator/job-terms.js';
import { runSimulation, type SimulationInput, type SimulationResult } from '../../src/simulator/run-simulation.js';
import { heldGpuMs, summarize } from '../../src/simulator/summarize.js';
import { zeroSum } from '../../src/simulator/zero-sum.js';
import { budgets, nodes, policy } from './build.js';

const RUNS = 15;
/** Each pass orders, and stops somebody: a run takes ten times as long. */
const FAIR_RUNS = 4;
const EVER = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

/** Streams of two or three projects on a few nodes of 4, gangs and jobs that never fit among them. */
const streams = fc
  .record({
    seed: fc.nat(1_000_000),
    count: fc.integer({ min: 5, max: 70 }),
    load: fc.constantFrom(0.5, 1, 3),
    nodeCount: fc.integer({ min: 1, max: 4 }),
    bound: fc.constantFrom(1, 3, null),
    minRuntimeSeconds: fc.constantFrom(0, 600),
    resumable: fc.constantFrom(0, 0.5, 1),
  })
  .map(({ seed, count, load, nodeCount, bound, minRuntimeSeconds, resumable }) => {
    const settings = generatorSchema.parse({
      ...{ seed, jobs: count, load, maxRuntimeFactor: bound, minRuntimeSeconds, resumable, preemptible: 0.7 },
      sizes: [1, 2, 3, 4, 6, 8, 20].map((gpus) => ({ gpus, weight: gpus === 20 ? 0.1 : 1 / gpus })),
      projects: [
        { name: 'low', priority: 5 },
        { name: 'mid', priority: 20 },
        { name: 'high', priority: 60, weight: 0.5 },
      ],
    });
    return { jobs: generateJobs(settings, nodeCount * 4), nodes: nodes(nodeCount, 4) };
  });

const fair = { order: 'fair-share', placement: 'best-fit-devices' } as const;
const POLICIES = {
  'fair share': policy(fair),
  fifo: policy(),
  'fifo with decay': policy({ decay: { by: 'attempts', after: 2, step: 5 } }),
  'decay by time': policy({ decay: { by: 'time', afterSeconds: 300, step: 5 } }),
  easy: policy({ backfill: 'easy' }),
  'easy with decay': policy({
    backfill: 'easy',
    decay: { by: 'attempts', after: 1, step: 5 },
    placement: 'best-fit-devices',
  }),
  conservative: policy({ backfill: 'conservative' }),
  preemption: policy({ preemption: { enabled: true, scope: 'group' } }),
  'preemption, easy': policy({ backfill: 'easy', preemption: { enabled: true, scope: 'group', mode: 'terminate' } }),
  'a longest wait': policy({ maxWaitSeconds: 1800 }),
} as const;

const forEach = (check: (input: SimulationInput) => void, given: SimulationInput['policy']): void =>
  fc.assert(
    fc.property(streams, (stream) => check(groundOf(stream, given))),
    { numRuns: given.order === 'fair-share' ? FAIR_RUNS : RUNS, seed: 42 },
  );

/** Under fair share on the terms of three budgets, two of them in one program, with a window that is over during the run. */
function groundOf(stream: Pick<SimulationInput, 'jobs' | 'nodes'>, given: SimulationInput['policy']): SimulationInput {
  if (given.order !== 'fair-share') return { ...stream, policy: given };
  const program = { low: { weight: 2, projects: ['low'] }, mid: { projects: ['mid'] } };
  const tree = { program: { weight: 3, budgets: program }, high: { projects: ['high'] } };
  const plan = budgets(stream.jobs, { shapes: stream.nodes, each: null, windowSeconds: 14_400, tree });
  return { nodes: stream.nodes, jobs: underBudgets(stream.jobs, plan), budgets: plan, policy: given };
}

/** All but how it was found out. */
const decided = ({ outcomes, occupancy, endMs, gpuCount }: SimulationResult) => ({
  ...{ outcomes, endMs, gpuCount },
  occupancy: occupancy.points,
});

/** GPUs held on each node at each moment at which a span begins. */
function mostHeldOnANode({ outcomes }: SimulationResult): number {
  let most = 0;
  const single = outcomes.filter(({ held }) => held.every((span) => span.nodes.length === 1));
  const spans = single.flatMap(({ job, held }) => held.map((span) => ({ ...span, gpus: job.gpus })));
  for (const {
    fromMs,
    nodes: [node],
  } of spans) {
    const held = spans.filter((other) => other.nodes[0] === node && other.fromMs <= fromMs && fromMs < other.toMs);
    most = Math.max(
      most,
      held.reduce((sum, { gpus }) => sum + gpus, 0),
    );
  }
  return most;
}

describe.each(Object.entries(POLICIES))('any stream under %s', (_, given) => {
  test('is never over-committed, its jobs end once, its gangs are whole, and no GPU time is lost or made up', () => {
    forEach((input) => {
      const result = runSimulation(input);
      expect(result.outcomes).toHaveLength(input.jobs.length);
      expect(result.occupancy.max).toBeLessThanOrEqual(result.gpuCount);
      expect(mostHeldOnANode(result)).toBeLessThanOrEqual(4);
      for (const { job, held, end, endedMs, stops } of result.outcomes) {
        expect(end).not.toBe('open');
        for (const span of held) expect(span.nodes).toHaveLength(Math.ceil(job.gpus / 4));
        for (const [k, span] of held.entries())
          expect(span.fromMs).toBeGreaterThanOrEqual(held[k - 1]?.toMs ?? job.submittedMs);
        if (end === 'done' || end === 'cut') expect(held).toHaveLength(stops + 1);
        if (end === 'done' || end === 'cut') expect(endedMs).toBe(held.at(-1)?.toMs);
        for (const span of held.slice(0, stops))
          expect(span.toMs - span.fromMs).toBeGreaterThanOrEqual(job.minRuntimeMs);
      }
      const integral = result.occupancy.integral(EVER);
      expect(heldGpuMs(result.outcomes, EVER)).toBe(integral);
      const { overall, projects } = summarize(result);
      expect(projects.reduce((sum, { heldGpuHours }) => sum + heldGpuHours, 0)).toBeCloseTo(overall.heldGpuHours, 6);
      expect(overall.heldGpuHours * 3_600_000).toBeCloseTo(integral, 0);
    }, given);
  }, 900_000);

  test('runs the same each time, in whatever order its jobs are given, and as with whole passes', () => {
    forEach((input) => {
      const once = runSimulation(input);
      const again = runSimulation({ ...input, jobs: input.jobs.toReversed() });
      expect(decided(again)).toEqual(decided(once));
      const whole = runSimulation({ ...input, isUnabridged: true });
      expect(decided(whole)).toEqual(decided(once));
      expect(once.passes).toBeLessThanOrEqual(whole.passes);
    }, given);
  }, 900_000);
});

test('between any two policies gains and losses add up to the change of occupancy', () => {
  forEach((input) => {
    const before = runSimulation(input);
    for (const other of Object.values(POLICIES)) {
      const check = zeroSum(before, runSimulation(groundOf(input, other)));
      expect(check).toMatchObject({ holds: true });
    }
  }, POLICIES.fifo);
}, 900_000);
