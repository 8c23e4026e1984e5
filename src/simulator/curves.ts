import type { SimulationResult } from './run-simulation.js';
import type { JobOutcome } from './simulated-job.js';
import { heldGpuMs, windowOf } from './summarize.js';
import { waitsOf } from './wait-figures.js';

export type Point = readonly [x: number, y: number];
const POINTS = 200;
const HOUR_MS = 3_600_000;

/** Share of the jobs that started within so many hours, thinned to a few hundred points. */
export function waitCurve(outcomes: readonly JobOutcome[]): readonly Point[] {
  const waits = waitsOf(outcomes);
  const step = Math.max(1, Math.floor(waits.length / POINTS));
  const points: Point[] = [];
  for (const [index, seconds] of waits.entries())
    if (index % step === 0 || index === waits.length - 1) points.push([seconds / 3600, (index + 1) / outcomes.length]);
  return points;
}

/** Mean of the share of GPUs that were held, in each of equal parts of the run: `[hours, 0…1]`. */
export function occupancyCurve({ occupancy, gpuCount, endMs, outcomes }: SimulationResult): readonly Point[] {
  const { fromMs } = windowOf(outcomes);
  return means({ occupancy, fromMs, toMs: endMs }).map(([hours, gpus]): Point => [hours, gpus / gpuCount]);
}

/** Per project: GPUs held, as a share of all there are. */
export function shareCurves(
  result: SimulationResult,
): readonly { readonly project: string; readonly points: readonly Point[] }[] {
  const { fromMs } = windowOf(result.outcomes);
  const widthMs = (result.endMs - fromMs) / POINTS;
  if (widthMs <= 0) return [];
  const projects = new Map<string, number[]>();
  for (const { job, held } of result.outcomes) {
    const sums = projects.get(job.project) ?? new Array<number>(POINTS).fill(0);
    projects.set(job.project, sums);
    for (const span of held) {
      const last = Math.min(POINTS - 1, Math.floor((span.toMs - fromMs) / widthMs));
      for (let k = Math.max(0, Math.floor((span.fromMs - fromMs) / widthMs)); k <= last; k += 1) {
        const window = { fromMs: fromMs + k * widthMs, toMs: fromMs + (k + 1) * widthMs };
        sums[k] = (sums[k] ?? 0) + heldGpuMs([{ ...EMPTY, job, held: [span] }], window);
      }
    }
  }
  return [...projects]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([project, sums]) => ({
      project,
      points: sums.map((gpuMs, k): Point => [((k + 0.5) * widthMs) / HOUR_MS, gpuMs / widthMs / result.gpuCount]),
    }));
}

const EMPTY = { startedMs: null, endedMs: null, end: 'done', stops: 0, lostGpuMs: 0 } as const;

interface Steps {
  readonly occupancy: SimulationResult['occupancy'];
  readonly fromMs: number;
  readonly toMs: number;
}

function means({ occupancy, fromMs, toMs }: Steps): readonly Point[] {
  const widthMs = (toMs - fromMs) / POINTS;
  if (widthMs <= 0) return [];
  const sums = new Array<number>(POINTS).fill(0);
  occupancy.forEach((atMs, endMs, gpus) => {
    const untilMs = Math.min(toMs, endMs);
    const last = Math.min(POINTS - 1, Math.floor((untilMs - fromMs) / widthMs));
    for (let k = Math.max(0, Math.floor((atMs - fromMs) / widthMs)); k <= last; k += 1) {
      const begin = fromMs + k * widthMs;
      sums[k] = (sums[k] ?? 0) + gpus * Math.max(0, Math.min(untilMs, begin + widthMs) - Math.max(atMs, begin));
    }
  });
  return sums.map((gpuMs, k): Point => [((k + 0.5) * widthMs) / HOUR_MS, gpuMs / widthMs]);
}
