import type { GroupPolicy } from '../contract/group-policy.js';
import type { KernelId, SessionId } from '../contract/ids.js';
import type { Placed } from '../contract/plan.js';
import type { SnapshotPending, SnapshotRoom, SnapshotRunning } from '../contract/snapshot.js';
import type { HeldSpan, JobOutcome, SimulatedJob } from './simulated-job.js';

/** A job on its way. Changed as the run goes on. */
export interface SimulatedSession {
  readonly id: SessionId;
  readonly job: SimulatedJob;
  /** As it waits, or waited last. */
  pending: SnapshotPending;
  running: SnapshotRunning | null;
  /** Attempt counter; an end of an older attempt is nobody's. */
  attempt: number;
  /** Work that a further attempt need not do again. */
  doneMs: number;
  attemptStartMs: number;
  /** GPUs × factor of its room, in thousandths. */
  milliGpus: number;
  stops: number;
  held: readonly HeldSpan[];
  lostGpuMs: number;
  /** What a stop that is under way leads to. */
  stopThen: 'requeue' | 'end' | null;
}

const GIB = 2 ** 30;
const GRACE_SECONDS = 10;
const EPOCH_MS = Date.UTC(2000, 0, 1);

const WISHES = {
  nodes: [],
  nodesRequired: false,
  zone: null,
  zoneRequired: false,
  spread: 'none' as const,
  replicaGroup: null,
};
const NOT_BLOCKED = { tries: 0, countedAt: null, blockedSince: null };
const NOTHING: never[] = [];

/** Instants of a run as timestamps: its begin is the year 2000. */
export const stampOf = (ms: number): string => new Date(EPOCH_MS + ms).toISOString();
export const msOfStamp = (stamp: string): number => Date.parse(stamp) - EPOCH_MS;

/** What a session takes from the cluster and the policy. */
export interface Ground {
  readonly largestNodeGpus: number;
  readonly policy: Pick<GroupPolicy, 'maxRuntimeSeconds'>;
  /** The leaf that a job is charged to; null: nothing is charged. */
  readonly leafOf: (job: SimulatedJob) => string | null;
}

export const sessionOf = (job: SimulatedJob, index: number, ground: Ground): SimulatedSession => {
  const id = `ses_${String(index).padStart(26, '0')}` as SessionId;
  return {
    id,
    job,
    pending: pendingOf(job, id, ground),
    running: null,
    attempt: 0,
    doneMs: 0,
    attemptStartMs: 0,
    milliGpus: 0,
    stops: 0,
    held: [],
    lostGpuMs: 0,
    stopThen: null,
  };
};

/** Of more than a node has: whole nodes, and the rest. */
function kernelGpus(gpus: number, nodeGpus: number): readonly number[] {
  if (gpus <= nodeGpus || nodeGpus < 1) return [gpus];
  const rest = gpus % nodeGpus;
  const whole = Array.from({ length: (gpus - rest) / nodeGpus }, () => nodeGpus);
  return rest > 0 ? [...whole, rest] : whole;
}

/** A GPU comes with a core and a GiB, so that GPUs are what is short. */
const kernelsOf = (gpus: readonly number[], id: string): SnapshotPending['kernels'] =>
  gpus.map((gpuCount, rank) => ({
    id: `krn_${id.slice(10)}${rank === 0 ? '000000' : String(rank).padStart(6, '0')}` as KernelId,
    role: rank === 0 ? 'main' : `worker${rank}`,
    rank,
    slots: slotsOf(gpuCount),
  }));

const SLOTS: SnapshotPending['kernels'][number]['slots'][] = [];
const slotsOf = (gpuCount: number): SnapshotPending['kernels'][number]['slots'] =>
  (SLOTS[gpuCount] ??= { cpuMilli: gpuCount * 1000, memoryBytes: gpuCount * GIB, gpuCount, gpuMemoryBytes: 0 });

function pendingOf(job: SimulatedJob, id: SessionId, { largestNodeGpus, policy, leafOf }: Ground): SnapshotPending {
  const capSeconds = policy.maxRuntimeSeconds.batch ?? Number.POSITIVE_INFINITY;
  const limitSeconds = Math.min((job.maxRuntimeMs ?? Number.POSITIVE_INFINITY) / 1000, capSeconds);
  const kernels = kernelsOf(kernelGpus(job.gpus, largestNodeGpus), id);
  // Each field by name: of millions of jobs, copies of a common part would be most of the work.
  return {
    id,
    name: job.name,
    version: 1,
    userId: job.user,
    projectId: job.project,
    domainId: 'domain',
    priority: job.priority,
    submittedAt: stampOf(job.submittedMs),
    architecture: null,
    gpuModel: null,
    clusterMode: kernels.length === 1 ? 'single-node' : 'multi-node',
    kernels,
    kind: 'batch',
    attempt: 0,
    minRuntimeSeconds: job.minRuntimeMs / 1000,
    maxRuntimeSeconds: limitSeconds === Number.POSITIVE_INFINITY ? null : limitSeconds,
    gracePeriodSeconds: GRACE_SECONDS,
    preemptible: job.preemptible,
    startsAt: null,
    retryAt: null,
    avoid: NOTHING,
    dependsOn: NOTHING,
    wishes: WISHES,
    image: null,
    folders: NOTHING,
    budgetId: leafOf(job) as SnapshotPending['budgetId'],
    decay: NOT_BLOCKED,
  };
}

/** It runs from `nowMs` on, in the room that the plan gave it. Answers when it ends if nobody stops it. */
export function startAttempt(
  session: SimulatedSession,
  placed: Placed,
  nowMs: number,
): { readonly running: SnapshotRunning; readonly endMs: number } {
  const { pending, job } = session;
  session.attempt += 1;
  session.attemptStartMs = nowMs;
  const at = stampOf(nowMs);
  const running: SnapshotRunning = {
    id: pending.id,
    name: pending.name,
    version: pending.version,
    attempt: session.attempt,
    userId: pending.userId,
    projectId: pending.projectId,
    domainId: pending.domainId,
    kind: pending.kind,
    priority: job.priority,
    submittedAt: pending.submittedAt,
    placedAt: at,
    startedAt: at,
    minRuntimeSeconds: pending.minRuntimeSeconds,
    maxRuntimeSeconds: pending.maxRuntimeSeconds,
    gracePeriodSeconds: pending.gracePeriodSeconds,
    preemptible: pending.preemptible,
    replicaGroup: null,
    budgetId: pending.budgetId,
    resumable: job.resumable,
    goneBy: null,
    kernels: placed.kernels,
  };
  session.running = running;
  const limitMs = (pending.maxRuntimeSeconds ?? Number.POSITIVE_INFINITY) * 1000;
  return { running, endMs: nowMs + Math.min(job.durationMs - session.doneMs, limitMs) };
}

const ALONE = new Map<string, readonly string[]>();

/** Each once. Most sessions are on one node, and share its list. */
function nodesOf(rooms: readonly SnapshotRoom[]): readonly string[] {
  const [first, second] = rooms;
  if (first === undefined || second !== undefined) return [...new Set(rooms.map(({ node }) => node))];
  let alone = ALONE.get(first.node);
  if (alone === undefined) ALONE.set(first.node, (alone = [first.node]));
  return alone;
}

/** Its room is free again. */
export function endAttempt(session: SimulatedSession, nowMs: number): void {
  const span = {
    fromMs: session.attemptStartMs,
    toMs: nowMs,
    nodes: nodesOf(session.running?.kernels ?? []),
    milliGpus: session.milliGpus,
  };
  session.held = session.held.length === 0 ? [span] : [...session.held, span];
  session.running = null;
}

/** The grace of a stop is over: what it did since its last checkpoint is lost. Called before `endAttempt`. */
export function loseWork(session: SimulatedSession, nowMs: number): void {
  const { job } = session;
  const workedMs = session.doneMs + nowMs - session.attemptStartMs;
  session.doneMs = keptOf(job, workedMs);
  session.lostGpuMs += (workedMs - session.doneMs) * job.gpus;
  session.stops += 1;
}

function keptOf({ resumable, checkpointMs }: SimulatedJob, workedMs: number): number {
  if (!resumable) return 0;
  return checkpointMs > 0 ? workedMs - (workedMs % checkpointMs) : workedMs;
}

/** It waits again, at the place of its submission and with the priority that it came with. */
export function requeued({ pending, job, attempt }: SimulatedSession): SnapshotPending {
  return { ...pending, priority: job.priority, attempt, version: attempt + 1, decay: NOT_BLOCKED };
}

export const outcomeOf = (session: SimulatedSession, end: Pick<JobOutcome, 'end' | 'endedMs'>): JobOutcome => ({
  job: session.job,
  startedMs: session.held[0]?.fromMs ?? null,
  ...end,
  stops: session.stops,
  held: session.held,
  lostGpuMs: session.lostGpuMs,
});
