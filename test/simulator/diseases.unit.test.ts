import { describe, expect, test } from 'vitest';
import { generatorSchema } from '../../src/contract/simulation.js';
import { generateJobs } from '../../src/simulator/generate-jobs.js';
import { hostEmptying } from '../../src/simulator/host-emptying.js';
import { onTerms } from '../../src/simulator/job-terms.js';
import type { SimulationResult } from '../../src/simulator/run-simulation.js';
import type { SimulatedJob } from '../../src/simulator/simulated-job.js';
import { summarize } from '../../src/simulator/summarize.js';
import { HOUR, nodes, policy, run } from './build.js';

/** What teams have where priority is all there is: anybody may stop those below him, in the whole group. */
const byPriority = policy({ preemption: { enabled: true, scope: 'group' } });
const GPUS = 16;

const stream = (projects: readonly object[], more: object = {}): readonly SimulatedJob[] =>
  generateJobs(
    generatorSchema.parse({ jobs: 120, load: 1.4, seed: 11, projects, maxRuntimeFactor: 1.5, ...more }),
    GPUS,
  );
const under = (jobs: readonly SimulatedJob[]): SimulationResult => run(jobs, { nodes: nodes(2), policy: byPriority });
const project = (result: SimulationResult, name: string) =>
  summarize(result).projects.find((one) => one.project === name);
const meanWait = (result: SimulationResult, name: string): number => project(result, name)?.wait.meanSeconds ?? 0;

describe('the diseases of priorities', { timeout: 60_000 }, () => {
  test('squatting: a team that parks jobs holds GPUs for nothing, and its own work waits no longer for it', () => {
    const honest = stream([{ name: 'a' }, { name: 'b' }]);
    const parked: readonly SimulatedJob[] = Array.from({ length: 4 }, (_, k) => ({
      ...(honest[0] as SimulatedJob),
      ...{ name: `parked-${k}`, project: 'b', user: 'b-1', gpus: 1, priority: 100, preemptible: false, parked: true },
      ...{ submittedMs: 0, durationMs: 1000 * HOUR, maxRuntimeMs: null },
    }));
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
