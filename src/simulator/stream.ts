import type { SimulatedJob } from './simulated-job.js';

/** A file of submissions that cannot be read. The message names the line and the field. */
export class StreamError extends Error {
  override readonly name = 'StreamError';
}

/** Jobs of a file, and what of it was left out, for people. */
export interface Stream {
  readonly jobs: readonly SimulatedJob[];
  /** One sentence for each kind of row that was left out. */
  readonly leftOut: readonly string[];
}

/** What a stream that does not say otherwise gives a job. */
export const PLAIN_JOB = {
  priority: 10,
  minRuntimeMs: 0,
  preemptible: true,
  resumable: true,
  checkpointMs: 0,
  parked: false,
} as const;

export const countText = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** GPU time that is asked, as a multiple of what there is while jobs come. 0 where all come at once. */
export function offeredLoad(jobs: readonly SimulatedJob[], gpuCount: number): number {
  const { workMs, spanMs } = extentOf(jobs);
  return spanMs === 0 ? 0 : workMs / (gpuCount * spanMs);
}

/** The same jobs, with the times between their submissions stretched so that they offer `load`. Whole ms. */
export function atLoad(jobs: readonly SimulatedJob[], load: number, gpuCount: number): readonly SimulatedJob[] {
  const offered = offeredLoad(jobs, gpuCount);
  if (offered === 0) return jobs;
  const { firstMs } = extentOf(jobs);
  const stretch = offered / load;
  return jobs.map((job) => ({ ...job, submittedMs: Math.round((job.submittedMs - firstMs) * stretch) }));
}

function extentOf(jobs: readonly SimulatedJob[]): {
  readonly workMs: number;
  readonly firstMs: number;
  readonly spanMs: number;
} {
  let workMs = 0;
  let firstMs = Number.POSITIVE_INFINITY;
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const { gpus, durationMs, submittedMs } of jobs) {
    workMs += gpus * durationMs;
    firstMs = Math.min(firstMs, submittedMs);
    lastMs = Math.max(lastMs, submittedMs);
  }
  return { workMs, firstMs, spanMs: Math.max(0, lastMs - firstMs) };
}

/** Names are who is who in results. */
export function refuseDoubles(jobs: readonly SimulatedJob[]): void {
  const seen = new Set<string>();
  for (const { name } of jobs) {
    if (seen.has(name)) throw new StreamError(`the job "${name}" stands more than once`);
    seen.add(name);
  }
}
