import type { SimulatedJob } from './simulated-job.js';
import { countText, PLAIN_JOB, refuseDoubles, type Stream, StreamError } from './stream.js';

/** Places of the fields of the Standard Workload Format 2.2 that are read, from 0 of its 18. */
const FIELD = {
  job: 0,
  submit: 1,
  runtime: 3,
  allocated: 4,
  requested: 7,
  requestedTime: 8,
  status: 10,
  user: 11,
  group: 12,
  queue: 14,
} as const;
const FIELDS = 18;

/**
 * The Standard Workload Format: `;` begins a comment, −1 is unknown. A processor is read as a GPU; jobs that were cancelled
 * before they ran are left out. Requested processors count before those that were allocated; the project is the group, or the queue.
 */
export function parseSwf(text: string): Stream {
  const jobs: SimulatedJob[] = [];
  let without = 0;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const plain = (line.split(';', 1)[0] ?? '').trim();
    if (plain === '') continue;
    const job = jobOf(numbersOf(plain, index + 1));
    if (job === null) without += 1;
    else jobs.push(job);
  }
  refuseDoubles(jobs);
  return {
    jobs,
    leftOut: without === 0 ? [] : [`${countText(without, 'job')} that did not run, or without a number of processors`],
  };
}

function numbersOf(line: string, number: number): readonly number[] {
  const cells = line.split(/\s+/);
  if (cells.length !== FIELDS)
    throw new StreamError(`line ${number}: ${countText(cells.length, 'field')}, and the format has ${FIELDS}`);
  return cells.map((cell, place) => {
    const value = Number(cell);
    if (!Number.isFinite(value)) throw new StreamError(`line ${number}: field ${place + 1}: "${cell}" is not a number`);
    return value;
  });
}

/** Null: nothing to run. */
function jobOf(fields: readonly number[]): SimulatedJob | null {
  const of = (field: keyof typeof FIELD): number => fields[FIELD[field]] ?? -1;
  const gpus = of('requested') > 0 ? of('requested') : of('allocated');
  const durationMs = Math.round(of('runtime') * 1000);
  if (gpus < 1 || !Number.isInteger(gpus) || durationMs < 1 || of('submit') < 0) return null;
  const user = of('user') >= 0 ? `user-${of('user')}` : 'unknown';
  const owner = of('group') >= 0 ? `group-${of('group')}` : of('queue') >= 0 ? `queue-${of('queue')}` : 'all';
  return {
    ...PLAIN_JOB,
    name: `job-${String(of('job')).padStart(9, '0')}`,
    user,
    project: owner,
    submittedMs: Math.round(of('submit') * 1000),
    durationMs,
    gpus,
    maxRuntimeMs: of('requestedTime') > 0 ? Math.round(of('requestedTime') * 1000) : null,
  };
}
