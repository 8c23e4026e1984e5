import { describe, expect, test } from 'vitest';
import { generatorSchema } from '../../src/contract/simulation.js';
import { generateJobs } from '../../src/simulator/generate-jobs.js';
import { hostEmptying } from '../../src/simulator/host-emptying.js';
import { onTerms } from '../../src/simulator/job-terms.js';
import type { SimulationResult } from '../../src/simulator/run-simulation.js';
import type { SimulatedJob } from '../../src/simulator/simulated-job.js';
import { summarize } from '../../src/simulator/summarize.js';
import { HOUR, nodes, policy, run, runFairly } from './build.js';

/** What teams have where priority is all there is: anybody may stop those below him, in the whole group. */
const byPriority = policy({ preemption: { enabled: true, scope: 'group' } });
const GPUS = 16;

const stream = (projects: readonly object[], more: object = {}): readonly SimulatedJob[] =>
  generateJobs(
    generatorSchema.parse({ jobs: 120, load: 1.4, seed: 11, projects, maxRuntimeFactor: 1.5, ...more }),
    GPUS,
  );
const under = (jobs: readonly SimulatedJob[]): SimulationResult => run(jobs, { nodes: nodes(2), policy: byPriority });
/** The same GPUs shared by two budgets of equal weight; each job is protected for its first hour. */
const underBudgets = (jobs: readonly SimulatedJob[]): SimulationResult =>
  runFairly(jobs, { nodes: nodes(2), windowSeconds: 86_400 });
const protectedFor = (jobs: readonly SimulatedJob[], hours: number): readonly SimulatedJob[] =>
  jobs.map((job) => ({ ...job, minRuntimeMs: Math.min(hours * HOUR, job.maxRuntimeMs ?? Infinity) }));
const parkedJobs = (like: SimulatedJob, minRuntimeHours: number): readonly SimulatedJob[] =>
  Array.from({ length: 4 }, (_, k) => ({
    ...{
      ...like,
      name: `parked-${k}`,
      project: 'b',
      user: 'b-1',
      gpus: 1,
      priority: 100,
      preemptible: false,
      parked: true,
    },
    ...{ submittedMs: 0, durationMs: 60 * HOUR, maxRuntimeMs: null, resumable: true },
    minRuntimeMs: minRuntimeHours * HOUR,
  }));

const project = (result: SimulationResult, name: string) =>
  summarize(result).projects.find((one) => one.project === name);
const meanWait = (result: SimulationResult, name: string): number => project(result, name)?.wait.meanSeconds ?? 0;

describe('the diseases of priorities', { timeout: 60_000 }, () => {
  test('squatting: a team that parks jobs holds GPUs for nothing, and its own work waits no longer for it', () => {
    const honest = stream([{ name: 'a' }, { name: 'b' }]);
    const parked = parkedJobs(honest[0] as SimulatedJob, 0);
    const [before, after] = [under(honest), under([...honest, ...parked])];
    const share = (result: SimulationResult): number => project(result, 'b')?.share ?? 0;
    expect(project(after, 'b')?.parkedGpuHours ?? 0).toBeGreaterThan(
      0.2 * (project(after, 'b')?.heldWhileComingGpuHours ?? 0),
    );
    expect(share(after)).toBeGreaterThan(share(before) + 0.05);
    expect(meanWait(after, 'a')).toBeGreaterThan(1.5 * meanWait(before, 'a'));
    // Nothing is charged: of those that do work, b's wait no longer than a's do.
    const working = (name: string): readonly number[] =>
      after.outcomes.flatMap(({ job, startedMs }) =>
        job.project === name && !job.parked && startedMs !== null ? [startedMs - job.submittedMs] : [],
      );
    const mean = (waits: readonly number[]): number => waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
    expect(mean(working('b')) / mean(working('a'))).toBeLessThan(1.25);
  });

  test('priority inflation: who raises his own gains, all others lose, and when all have raised it nothing is won', () => {
    const at = (a: number, b: number) =>
      under(
        stream([
          { name: 'a', priority: a },
          { name: 'b', priority: b },
        ]),
      );
    const [level, raised, inflated] = [at(10, 10), at(10, 90), at(90, 90)];
    expect(meanWait(raised, 'b')).toBeLessThan(0.5 * meanWait(level, 'b'));
    expect(meanWait(raised, 'a')).toBeGreaterThan(1.2 * meanWait(level, 'a'));
    const starts = ({ outcomes }: SimulationResult) => outcomes.map(({ startedMs }) => startedMs);
    expect(starts(inflated)).toEqual(starts(level));
  });

  test('undrainable hosts: without a minimum runtime that was agreed on a marked host is empty when its work likes', () => {
    const long = { duration: { medianSeconds: 40_000, sigma: 1.5, maxSeconds: 1_209_600 } };
    const jobs = stream([{ name: 'a' }, { name: 'b' }], long);
    const terms = { maxRuntime: 'given', maxRuntimeFactor: 1 } as const;
    const pinned = hostEmptying(under(onTerms(jobs, { ...terms, preemptible: false })), 24);
    const agreed = hostEmptying(under(onTerms(jobs, { ...terms, preemptible: true, minRuntimeSeconds: 4 * 3600 })), 24);
    expect(pinned.byContract.overLimit / pinned.samples).toBeGreaterThan(0.5);
    expect(agreed.byContract).toMatchObject({ overLimit: 0 });
    expect(agreed.byContract.maxHours).toBeLessThanOrEqual(4 + 10 / 3600);
  });
});

describe('the same streams under budgets', { timeout: 60_000 }, () => {
  test('squatting: what a team parks is charged to it, so that it is the team itself that waits', () => {
    const honest = protectedFor(stream([{ name: 'a' }, { name: 'b' }]), 1);
    const parked = parkedJobs(honest[0] as SimulatedJob, 12);
    const [before, after] = [underBudgets(honest), underBudgets([...honest, ...parked])];
    const share = (result: SimulationResult): number => project(result, 'b')?.share ?? 0;
    expect(Math.abs(share(after) - share(before))).toBeLessThan(0.02);
    expect(meanWait(after, 'b')).toBeGreaterThan(5 * meanWait(before, 'b'));
    expect(meanWait(after, 'b')).toBeGreaterThan(meanWait(after, 'a'));
    // With no minimum runtime it costs nothing, and is in nobody's way.
    const free = underBudgets([...honest, ...parkedJobs(honest[0] as SimulatedJob, 0)]);
    expect(meanWait(free, 'a')).toBeLessThan(1.15 * meanWait(before, 'a'));
    expect(meanWait(free, 'b')).toBeLessThan(1.15 * meanWait(before, 'b'));
  });

  test('priority inflation: it acts within one budget only, and moves nothing between two', () => {
    const at = (b: number) =>
      underBudgets(
        protectedFor(
          stream([
            { name: 'a', priority: 10 },
            { name: 'b', priority: b },
          ]),
          1,
        ),
      );
    const starts = ({ outcomes }: SimulationResult) => outcomes.map(({ startedMs }) => startedMs);
    expect(starts(at(90))).toEqual(starts(at(10)));
  });

  test('undrainable hosts: every host is empty when the last minimum runtime on it is over', () => {
    const long = { duration: { medianSeconds: 40_000, sigma: 1.5, maxSeconds: 1_209_600 } };
    const pinned = stream([{ name: 'a' }, { name: 'b' }], { ...long, jobs: 60 }).map((job) => ({
      ...job,
      preemptible: false,
    }));
    const result = underBudgets(protectedFor(pinned, 4));
    const { byItself, byContract, samples } = hostEmptying(result, 24);
    expect(byItself.overLimit / samples).toBeGreaterThan(0.3);
    expect(byContract.overLimit).toBe(0);
    expect(byContract.maxHours).toBeLessThanOrEqual(4 + 10 / 3600);
  });
});
