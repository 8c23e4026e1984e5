import type { Generator } from '../contract/simulation.js';
import { type Random, seededRandom, weighted } from './random.js';
import type { SimulatedJob } from './simulated-job.js';

/**
 * A stream that asks for `load` times the GPU time of `gpuCount` GPUs while its jobs come: they come at random (Poisson)
 * at the rate that the work that was drawn needs. The same settings give the same stream.
 */
export function generateJobs(settings: Generator, gpuCount: number): readonly SimulatedJob[] {
  const digits = String(settings.jobs).length;
  const gapMs = meanGapMs(settings, gpuCount);
  const draws = drawsOf(settings);
  const jobs: SimulatedJob[] = [];
  let atMs = 0;
  for (let index = 1; index <= settings.jobs; index += 1) {
    const { body, gap } = draws();
    atMs += gap * gapMs;
    jobs.push({ ...body, name: `job-${String(index).padStart(digits, '0')}`, submittedMs: Math.round(atMs) });
  }
  return jobs;
}

/** What all jobs ask, spread over the time that it would take: they are drawn twice, so that they are held once. */
function meanGapMs(settings: Generator, gpuCount: number): number {
  const draws = drawsOf(settings);
  let workMs = 0;
  let gaps = 0;
  for (let index = 0; index < settings.jobs; index += 1) {
    const { body, gap } = draws();
    workMs += body.gpus * body.durationMs;
    gaps += gap;
  }
  return workMs / (gpuCount * settings.load) / gaps;
}

type Body = Omit<SimulatedJob, 'name' | 'submittedMs'>;

function drawsOf(settings: Generator): () => { readonly body: Body; readonly gap: number } {
  const random = seededRandom(settings.seed);
  const sizeOf = weighted(settings.sizes);
  const projectOf = weighted(settings.projects);
  return () => ({
    body: bodyOf(settings, { random, project: projectOf(random), gpus: sizeOf(random).gpus }),
    gap: -Math.log(1 - random.next()),
  });
}

const USERS = new Map<string, string[]>();

/** One string for all of a user's jobs. */
function userOf(project: string, index: number): string {
  let users = USERS.get(project);
  if (users === undefined) USERS.set(project, (users = []));
  return (users[index] ??= `${project}-${index + 1}`);
}

interface Draw {
  readonly random: Random;
  readonly project: Generator['projects'][number];
  readonly gpus: number;
}

function bodyOf(settings: Generator, { random, project, gpus }: Draw): Body {
  const { medianSeconds, sigma, maxSeconds } = settings.duration;
  const seconds = Math.min(maxSeconds, medianSeconds * Math.exp(sigma * random.normal()));
  const durationMs = Math.max(1000, Math.round(seconds * 1000));
  const { maxRuntimeFactor: factor, minRuntimeSeconds, checkpointSeconds } = settings;
  return {
    user: userOf(project.name, Math.floor(random.next() * project.users)),
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
