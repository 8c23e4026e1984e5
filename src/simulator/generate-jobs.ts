import type { Generator } from '../contract/simulation.js';
import { type Random, seededRandom, weighted } from './random.js';
import type { SimulatedJob } from './simulated-job.js';

/**
 * A stream that asks for `load` times the GPU time of `gpuCount` GPUs while its jobs come: they come at random (Poisson)
 * at the rate that the work that was drawn needs. The same settings give the same stream.
 */
export function generateJobs(settings: Generator, gpuCount: number): readonly SimulatedJob[] {
  const random = seededRandom(settings.seed);
  const sizeOf = weighted(settings.sizes);
  const projectOf = weighted(settings.projects);
  const drawn = Array.from({ length: settings.jobs }, () => ({
    ...bodyOf(settings, { random, project: projectOf(random), gpus: sizeOf(random).gpus }),
    gap: -Math.log(1 - random.next()),
  }));
  const workMs = drawn.reduce((sum, { gpus, durationMs }) => sum + gpus * durationMs, 0);
  const gaps = drawn.reduce((sum, { gap }) => sum + gap, 0);
  const gapMs = workMs / (gpuCount * settings.load) / gaps;
  const digits = String(settings.jobs).length;
  let atMs = 0;
  return drawn.map(({ gap, ...job }, index) => {
    atMs += gap * gapMs;
    return { ...job, name: `job-${String(index + 1).padStart(digits, '0')}`, submittedMs: Math.round(atMs) };
  });
}

interface Draw {
  readonly random: Random;
  readonly project: Generator['projects'][number];
  readonly gpus: number;
}

function bodyOf(settings: Generator, { random, project, gpus }: Draw): Omit<SimulatedJob, 'name' | 'submittedMs'> {
  const { medianSeconds, sigma, maxSeconds } = settings.duration;
  const seconds = Math.min(maxSeconds, medianSeconds * Math.exp(sigma * random.normal()));
  const durationMs = Math.max(1000, Math.round(seconds * 1000));
  const { maxRuntimeFactor: factor, minRuntimeSeconds, checkpointSeconds } = settings;
  return {
    user: `${project.name}-${1 + Math.floor(random.next() * project.users)}`,
    project: project.name,
    durationMs,
    gpus,
    priority: project.priority,
    minRuntimeMs: Math.round(minRuntimeSeconds * 1000),
    maxRuntimeMs: factor === null ? null : Math.round(durationMs * factor),
    preemptible: random.next() < settings.preemptible,
    resumable: random.next() < settings.resumable,
    checkpointMs: Math.round(checkpointSeconds * 1000),
    parked: random.next() < project.parked,
  };
}
