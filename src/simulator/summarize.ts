import type { SimulationResult } from './run-simulation.js';
import type { JobOutcome } from './simulated-job.js';
import { type WaitFigures, waitFigures } from './wait-figures.js';

/** Figures of a group of jobs. Times in seconds, GPU time in GPU hours. */
export interface Figures {
  readonly jobs: number;
  readonly ends: Readonly<Record<JobOutcome['end'], number>>;
  /** From submission to the first start, of those that started. */
  readonly wait: WaitFigures;
  /** The same, of jobs with a minimum runtime of at most an hour: somebody sits before them. */
  readonly firstGpu: WaitFigures;
  readonly stops: number;
  /** Held until the end of the run. */
  readonly heldGpuHours: number;
  /** Held while jobs came: what policies can differ in when all work is done in the end. */
  readonly heldWhileComingGpuHours: number;
  /** Of that, by jobs that do nothing with it. */
  readonly parkedGpuHours: number;
  /** Work that stops threw away. */
  readonly lostGpuHours: number;
  /** Of the GPU time that was held while jobs came. */
  readonly share: number;
}

export interface Summary {
  readonly gpuCount: number;
  /** From the first submission to the last. */
  readonly comingSeconds: number;
  /** From the first submission to the last event. */
  readonly totalSeconds: number;
  /** GPUs held, of those there are, while jobs came, and in all. */
  readonly occupancyWhileComing: number;
  readonly occupancy: number;
  readonly passes: number;
  readonly overall: Figures;
  readonly projects: readonly (Figures & { readonly project: string })[];
}

const GPU_MS_A_GPU_HOUR = 3_600_000;
const HOUR_MS = 3_600_000;

/** The window in which jobs came. Half-open. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

export function windowOf(outcomes: readonly JobOutcome[]): Window {
  let fromMs = Number.POSITIVE_INFINITY;
  let toMs = Number.NEGATIVE_INFINITY;
  for (const { job } of outcomes) {
    fromMs = Math.min(fromMs, job.submittedMs);
    toMs = Math.max(toMs, job.submittedMs);
  }
  return outcomes.length === 0 ? { fromMs: 0, toMs: 0 } : { fromMs, toMs };
}

export function summarize(result: SimulationResult): Summary {
  const { outcomes, gpuCount, endMs, passes } = result;
  const coming = windowOf(outcomes);
  const byProject = new Map<string, JobOutcome[]>();
  for (const outcome of outcomes) {
    const known = byProject.get(outcome.job.project);
    if (known === undefined) byProject.set(outcome.job.project, [outcome]);
    else known.push(outcome);
  }
  const heldMs = heldGpuMs(outcomes, coming);
  const overall = figuresOf(outcomes, coming, heldMs);
  return {
    gpuCount,
    comingSeconds: (coming.toMs - coming.fromMs) / 1000,
    totalSeconds: (endMs - coming.fromMs) / 1000,
    occupancyWhileComing: part(heldMs, gpuCount * (coming.toMs - coming.fromMs)),
    occupancy: part(overall.heldGpuHours * GPU_MS_A_GPU_HOUR, gpuCount * (endMs - coming.fromMs)),
    passes,
    overall,
    projects: [...byProject]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([project, own]) => ({ project, ...figuresOf(own, coming, heldMs) })),
  };
}

const part = (of: number, whole: number): number => (whole > 0 ? of / whole : 0);

/** GPU·ms that they held within a window. */
export function heldGpuMs(outcomes: readonly JobOutcome[], { fromMs, toMs }: Window): number {
  let sum = 0;
  for (const { job, held } of outcomes)
    for (const span of held) sum += job.gpus * Math.max(0, Math.min(span.toMs, toMs) - Math.max(span.fromMs, fromMs));
  return sum;
}

const EVER: Window = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };

function figuresOf(outcomes: readonly JobOutcome[], coming: Window, allHeldMs: number): Figures {
  const ends = { done: 0, cut: 0, stopped: 0, cancelled: 0, refused: 0, open: 0 };
  let stops = 0;
  let lostGpuMs = 0;
  for (const outcome of outcomes) {
    ends[outcome.end] += 1;
    stops += outcome.stops;
    lostGpuMs += outcome.lostGpuMs;
  }
  const heldWhileComing = heldGpuMs(outcomes, coming);
  const parked = outcomes.filter(({ job }) => job.parked);
  return {
    jobs: outcomes.length,
    ends,
    wait: waitFigures(outcomes),
    firstGpu: waitFigures(outcomes.filter(({ job }) => job.minRuntimeMs <= HOUR_MS)),
    stops,
    heldGpuHours: heldGpuMs(outcomes, EVER) / GPU_MS_A_GPU_HOUR,
    heldWhileComingGpuHours: heldWhileComing / GPU_MS_A_GPU_HOUR,
    parkedGpuHours: heldGpuMs(parked, coming) / GPU_MS_A_GPU_HOUR,
    lostGpuHours: lostGpuMs / GPU_MS_A_GPU_HOUR,
    share: part(heldWhileComing, allHeldMs),
  };
}
