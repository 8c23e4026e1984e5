import { describe, expect, test } from 'vitest';
import { occupancyCurve, shareCurves, waitCurve } from '../../src/simulator/curves.js';
import { hostEmptying } from '../../src/simulator/host-emptying.js';
import { summarize } from '../../src/simulator/summarize.js';
import { quantile } from '../../src/simulator/wait-figures.js';
import { zeroSum } from '../../src/simulator/zero-sum.js';
import { HOUR, job, policy, run } from './build.js';

/** b waits 2 h for a; c (of another project) waits 2 h, or passes b with backfill. */
const stream = [
  job('a', { gpus: 6, durationMs: 2 * HOUR }),
  job('b', { gpus: 8 }),
  job('c', { gpus: 2, project: 'other' }),
  job('d', { submittedMs: 4 * HOUR, parked: true }),
];
const fifo = run(stream);

test('waits, GPU time and shares are those that can be counted by hand', () => {
  const { overall, projects, ...whole } = summarize(fifo);
  // a 6×2, b 8×1 from 2 h, c 2×1 from 3 h, d 1×1 from 4 h.
  expect(overall).toMatchObject({
    jobs: 4,
    heldGpuHours: 23,
    heldWhileComingGpuHours: 22,
    parkedGpuHours: 0,
    stops: 0,
  });
  expect(overall.wait).toEqual({
    started: 4,
    meanSeconds: 4500,
    medianSeconds: 0,
    p95Seconds: 10_800,
    maxSeconds: 10_800,
  });
  expect(overall.ends).toEqual({ done: 4, cut: 0, stopped: 0, cancelled: 0, refused: 0, open: 0 });
  expect(whole).toMatchObject({
    comingSeconds: 14_400,
    totalSeconds: 18_000,
    occupancyWhileComing: 22 / 32,
    occupancy: 23 / 40,
  });
  expect(projects.map(({ project, share }) => [project, share])).toEqual([
    ['other', 2 / 22],
    ['research', 20 / 22],
  ]);
});

test('quantiles are values that were seen', () => {
  expect([0, 0.5, 0.51, 1].map((share) => quantile([1, 2, 3, 4], share))).toEqual([1, 2, 3, 4]);
  expect(quantile([], 0.5)).toBeNull();
});

test('what one policy gives to somebody was free, or somebody else’s', () => {
  const earlier = [...stream.slice(0, 3), job('d', { submittedMs: 3 * HOUR })];
  const check = zeroSum(run(earlier), run(earlier, { policy: policy({ backfill: 'easy' }) }));
  expect(check).toMatchObject({ gains: 2, losses: 0, occupancyChange: 2, remainder: 0, holds: true });
  expect(check.changes).toEqual([
    { project: 'other', gpuHours: 2 },
    { project: 'research', gpuHours: 0 },
  ]);
});

test('curves end where the figures are', () => {
  expect(waitCurve(fifo.outcomes)).toEqual([
    [0, 0.25],
    [0, 0.5],
    [2, 0.75],
    [3, 1],
  ]);
  const mean = occupancyCurve(fifo).reduce((sum, [, part]) => sum + part, 0) / 200;
  expect(mean).toBeCloseTo(23 / 40, 9);
  const research = shareCurves(fifo).find(({ project }) => project === 'research')?.points ?? [];
  expect(research.reduce((sum, [, part]) => sum + part, 0) / 200).toBeCloseTo(21 / 40, 9);
});

describe('a marked host', () => {
  test('is empty when the last of its work ends, or by the contract when the last minimum runtime does', () => {
    const jobs = [
      job('long', { durationMs: 100 * HOUR, minRuntimeMs: 2 * HOUR }),
      job('last', { submittedMs: 50 * HOUR, durationMs: HOUR }),
    ];
    const { samples, byItself, byContract } = hostEmptying(run(jobs), 24);
    expect(samples).toBe(24);
    expect(byItself).toMatchObject({ medianHours: 74, maxHours: 98, overLimit: 24 });
    expect(byContract.maxHours).toBeCloseTo(10 / 3600, 6);
    expect(byContract.overLimit).toBe(0);
  });

  test('is waited for as long as its work may not be stopped', () => {
    const jobs = [
      job('pinned', { durationMs: 100 * HOUR, preemptible: false }),
      job('last', { submittedMs: 50 * HOUR }),
    ];
    expect(hostEmptying(run(jobs), 24).byContract.overLimit).toBe(24);
  });
});
