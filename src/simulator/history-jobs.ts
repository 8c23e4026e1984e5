import type { Session } from '../contract/session.js';
import type { SimulatedJob } from './simulated-job.js';
import { countText, PLAIN_JOB, type Stream } from './stream.js';

type Past = Pick<
  Session,
  | 'id'
  | 'user'
  | 'project'
  | 'submittedAt'
  | 'startedAt'
  | 'endedAt'
  | 'slots'
  | 'priority'
  | 'basePriority'
  | 'minRuntimeSeconds'
  | 'maxRuntimeSeconds'
  | 'preemptible'
  | 'resumable'
>;

/**
 * Sessions of the past as submissions: each worked for as long as its last attempt ran. Those that hold no whole GPU,
 * never ran or still run are left out.
 */
export function historyJobs(sessions: readonly Past[]): Stream {
  const past = sessions.filter(({ startedAt, endedAt, slots }) => startedAt && endedAt && slots.gpuCount > 0);
  const firstMs = past.reduce((least, { submittedAt }) => Math.min(least, Date.parse(submittedAt)), Infinity);
  const leftOut = sessions.length - past.length;
  return {
    jobs: past.map((session) => jobOf(session, firstMs)),
    leftOut: leftOut === 0 ? [] : [`${countText(leftOut, 'session')} without whole GPUs, or that did not run and end`],
  };
}

function jobOf(session: Past, firstMs: number): SimulatedJob {
  const { startedAt, endedAt, maxRuntimeSeconds } = session;
  return {
    ...PLAIN_JOB,
    name: session.id,
    user: session.user,
    project: session.project,
    submittedMs: Date.parse(session.submittedAt) - firstMs,
    durationMs: Math.max(1, Date.parse(endedAt ?? '') - Date.parse(startedAt ?? '')),
    gpus: session.slots.gpuCount,
    priority: session.basePriority ?? session.priority,
    minRuntimeMs: Math.round(session.minRuntimeSeconds * 1000),
    maxRuntimeMs: maxRuntimeSeconds === null ? null : Math.max(1, Math.round(maxRuntimeSeconds * 1000)),
    preemptible: session.preemptible,
    resumable: session.resumable,
  };
}
