import type { Plan } from '../contract/plan.js';
import type { Snapshot, SnapshotHold, SnapshotRunning } from '../contract/snapshot.js';
import { EventHeap } from './event-heap.js';
import { KeptNodes } from './kept-nodes.js';
import { planBriefly } from './plan-briefly.js';
import { type Decisions, planWhole } from './plan-queue.js';
import { SimulatedCluster } from './simulated-cluster.js';
import type { JobOutcome, SimulatedJob } from './simulated-job.js';
import {
  endAttempt,
  type Ground,
  loseWork,
  msOfStamp,
  outcomeOf,
  requeued,
  type SimulatedSession,
  sessionOf,
  stampOf,
  startAttempt,
} from './simulated-session.js';
import type { SimulationInput } from './simulation-input.js';
import { StepCurve } from './step-curve.js';
import { UseLedger } from './use-ledger.js';
import { WaitingQueue } from './waiting-queue.js';

export type { SimulationInput } from './simulation-input.js';

export interface SimulationResult {
  /** In order of submission, then of names. */
  readonly outcomes: readonly JobOutcome[];
  readonly gpuCount: number;
  /** The last moment at which anything happened. */
  readonly endMs: number;
  /** How often the product's pass ran; moments at which it can be seen without it that nobody starts are not counted. */
  readonly passes: number;
  /** GPUs held. */
  readonly occupancy: StepCurve;
}

/** Under budgets the order changes with use alone, without any event: the product looks again at least every 30 s, a run every ten minutes. */
const LOOK_AGAIN_MS = 600_000;

type Event =
  | { readonly kind: 'end' | 'gone'; readonly session: SimulatedSession; readonly attempt: number }
  | { readonly kind: 'wake' };

/**
 * A stream of submissions under one policy, with a virtual clock: at each moment at which anything happens the product's own
 * pass plans the whole group, and its plan is carried out as the ledger and the workflows would. The same input gives
 * the same result. Starting takes no time, and a session that is told to end uses its grace period whole.
 */
export function runSimulation(input: SimulationInput): SimulationResult {
  const run = new Run(input);
  run.go();
  return run.result();
}

class Run {
  readonly #cluster: SimulatedCluster;
  readonly #input: SimulationInput;
  readonly #ground: Ground;
  /** In order of submission; those before `#submitted` are in. */
  readonly #jobs: readonly SimulatedJob[];
  #submitted = 0;
  /** Those who wait or run. */
  readonly #live = new Map<string, SimulatedSession>();
  readonly #events = new EventHeap<Event>();
  readonly #queue = new WaitingQueue();
  readonly #running = new Map<string, SnapshotRunning>();
  readonly #holds = new Map<string, SnapshotHold>();
  readonly #outcomes = new Map<SimulatedJob, JobOutcome>();
  readonly #occupancy = new StepCurve();
  #heldGpus = 0;
  #nowMs = 0;
  #wakeMs = Number.POSITIVE_INFINITY;
  #passes = 0;
  /** null: nothing is charged. */
  readonly #ledger: UseLedger | null;
  /** Once a pass was made from it, it has to be told of whoever comes or goes. */
  #kept: KeptNodes | null = null;

  constructor(input: SimulationInput) {
    this.#cluster = new SimulatedCluster(input.nodes);
    this.#input = input;
    const budgets = input.policy.order === 'fair-share' ? (input.budgets ?? null) : null;
    if (input.policy.order === 'fair-share' && budgets === null)
      throw new Error('order fair-share goes by budgets: name some');
    this.#ledger = budgets === null ? null : new UseLedger(budgets);
    this.#ground = {
      largestNodeGpus: Math.max(...input.nodes.map(({ gpus }) => gpus)),
      policy: input.policy,
      leafOf: budgets?.leafOf ?? (() => null),
    };
    this.#jobs = input.jobs.toSorted((a, b) => a.submittedMs - b.submittedMs || (a.name < b.name ? -1 : 1));
  }

  go(): void {
    const { untilMs = Number.POSITIVE_INFINITY } = this.#input;
    for (let atMs = this.#nextMs(); atMs <= untilMs && atMs < Number.POSITIVE_INFINITY; atMs = this.#nextMs()) {
      this.#nowMs = atMs;
      let isChanged = this.#submit();
      while (this.#events.nextMs === atMs) isChanged = this.#happen(this.#events.take()) || isChanged;
      if (isChanged && (this.#queue.size > 0 || this.#holds.size > 0)) this.#plan();
      this.#occupancy.put(atMs, this.#heldGpus);
    }
  }

  result(): SimulationResult {
    for (const session of this.#live.values()) {
      if (session.running !== null) endAttempt(session, this.#nowMs);
      this.#outcomes.set(session.job, outcomeOf(session, { end: 'open', endedMs: null }));
    }
    const isKnown = (outcome: JobOutcome | undefined): outcome is JobOutcome => outcome !== undefined;
    return {
      outcomes: this.#jobs.map((job) => this.#outcomes.get(job)).filter(isKnown),
      gpuCount: this.#cluster.gpuCount,
      endMs: this.#nowMs,
      passes: this.#passes,
      occupancy: this.#occupancy,
    };
  }

  #nextMs(): number {
    return Math.min(this.#jobs[this.#submitted]?.submittedMs ?? Number.POSITIVE_INFINITY, this.#events.nextMs);
  }

  #submit(): boolean {
    let isChanged = false;
    for (; this.#jobs[this.#submitted]?.submittedMs === this.#nowMs; this.#submitted += 1) {
      const session = sessionOf(this.#jobs[this.#submitted] as SimulatedJob, this.#submitted, this.#ground);
      this.#live.set(session.id, session);
      this.#queue.put(session.pending);
      isChanged = true;
    }
    return isChanged;
  }

  /** False: nothing that a plan depends on. */
  #happen(event: Event | undefined): boolean {
    if (event === undefined) return false;
    if (event.kind === 'wake') {
      const isDue = this.#wakeMs <= this.#nowMs;
      if (isDue) this.#wakeMs = Number.POSITIVE_INFINITY;
      return isDue;
    }
    const { session } = event;
    if (session.attempt !== event.attempt || session.running === null) return false;
    if (event.kind === 'gone') this.#stopped(session);
    else this.#ended(session);
    return true;
  }

  #plan(): void {
    const { policy, isUnabridged = false } = this.#input;
    const moment = {
      now: stampOf(this.#nowMs),
      policy,
      queue: this.#queue,
      hasHolds: this.#holds.size > 0,
      holders: () => new Set<string>(this.#holds.keys()),
      base: (withRunning: boolean) => this.#base(withRunning),
      free: this.#cluster.free,
      empty: this.#cluster.empty,
      kept: () => (this.#kept ??= new KeptNodes(this.#base(true))),
    };
    const plan = isUnabridged ? planWhole(moment) : planBriefly(moment);
    if (plan.isPass) this.#passes += 1;
    this.#carryOut(plan);
  }

  #carryOut(plan: Decisions): void {
    for (const placed of plan.placed) this.#start(placed);
    for (const { sessionId } of plan.ends) this.#cancel(sessionId, 'cancelled');
    this.#keepRooms(plan);
    for (const order of plan.stops) this.#tell(order);
    for (const waiting of plan.waiting) this.#learn(waiting);
    if (plan.nextWakeAt !== null) this.#wakeAt(msOfStamp(plan.nextWakeAt));
    if (this.#ledger !== null && this.#queue.size > 0 && this.#running.size > 0)
      this.#wakeAt(this.#nowMs + LOOK_AGAIN_MS);
  }

  #base(withRunning: boolean): Omit<Snapshot, 'pending'> {
    return {
      schema: 'berth.snapshot/1',
      takenAt: stampOf(this.#nowMs),
      group: { name: 'simulated', generation: 1, policy: this.#input.policy },
      nodes: this.#cluster.nodes as Snapshot['nodes'],
      quotas: [],
      guarantees: this.#input.policy.guarantees.map(({ project = '', ...rest }) => ({
        project,
        projectId: project,
        ...rest,
      })),
      budgets: this.#ledger?.snapshotAt(this.#nowMs) ?? null,
      running: withRunning ? [...this.#running.values()] : [],
      holds: [...this.#holds.values()],
    };
  }

  #start(placed: Plan['placed'][number]): void {
    const session = this.#find(placed.sessionId);
    if (session.running !== null) throw new Error(`${placed.sessionId} was placed and runs already`);
    for (const room of placed.kernels) this.#cluster.take(room);
    this.#queue.take(session.pending);
    this.#holds.delete(session.id);
    session.milliGpus = this.#cluster.milliGpusOf(placed.kernels, this.#input.budgets?.factors ?? {});
    const { running, endMs } = startAttempt(session, placed, this.#nowMs);
    this.#running.set(session.id, running);
    this.#kept?.began(running);
    this.#ledger?.move(running, this.#nowMs, session.milliGpus);
    this.#heldGpus += session.job.gpus;
    this.#events.put(endMs, { kind: 'end', session, attempt: session.attempt });
  }

  #ended(session: SimulatedSession): void {
    const isDone = session.doneMs + this.#nowMs - session.attemptStartMs >= session.job.durationMs;
    this.#release(session);
    this.#finish(session, isDone ? 'done' : 'cut');
  }

  #tell(order: Plan['stops'][number]): void {
    const session = this.#find(order.sessionId);
    if (session.running === null) return;
    const goneMs = this.#nowMs + order.graceSeconds * 1000;
    session.running = { ...session.running, goneBy: stampOf(goneMs) };
    session.stopThen = order.then;
    this.#running.set(order.sessionId, session.running);
    this.#events.put(goneMs, { kind: 'gone', session, attempt: session.attempt });
  }

  /** The grace is over: it waits again, or has ended. */
  #stopped(session: SimulatedSession): void {
    loseWork(session, this.#nowMs);
    this.#release(session);
    if (session.stopThen === 'end') return this.#finish(session, 'stopped');
    session.stopThen = null;
    session.pending = requeued(session);
    this.#queue.put(session.pending);
  }

  #release(session: SimulatedSession): void {
    for (const room of session.running?.kernels ?? []) this.#cluster.giveBack(room);
    if (session.running !== null) {
      this.#kept?.ended(session.running);
      this.#ledger?.move(session.running, this.#nowMs, -session.milliGpus);
    }
    this.#running.delete(session.id);
    endAttempt(session, this.#nowMs);
    this.#heldGpus -= session.job.gpus;
  }

  #finish(session: SimulatedSession, end: JobOutcome['end']): void {
    this.#live.delete(session.id);
    this.#outcomes.set(session.job, outcomeOf(session, { end, endedMs: this.#nowMs }));
  }

  #cancel(sessionId: string, end: 'cancelled' | 'refused'): void {
    const session = this.#find(sessionId);
    this.#queue.take(session.pending);
    this.#holds.delete(sessionId);
    this.#finish(session, end);
  }

  #keepRooms({ holds, droppedHolds }: Decisions): void {
    for (const sessionId of droppedHolds) this.#holds.delete(sessionId);
    for (const { sessionId, victims, kernels } of holds) {
      const waiter = this.#find(sessionId).pending;
      this.#holds.set(sessionId, { sessionId, since: stampOf(this.#nowMs), victims, kernels, waiter });
    }
  }

  /** What the ledger writes of a session that goes on waiting: its decay. What can never run is refused. */
  #learn({ sessionId, reason, decay }: Decisions['waiting'][number]): void {
    if (reason === 'too_large_for_any_node' || reason === 'no_matching_device')
      return this.#cancel(sessionId, 'refused');
    if (decay === null) return;
    const session = this.#find(sessionId);
    const before = session.pending;
    const { priority, ...counted } = decay;
    session.pending = { ...before, priority, decay: counted };
    this.#queue.replace(before, session.pending);
  }

  #wakeAt(ms: number): void {
    if (ms <= this.#nowMs || ms >= this.#wakeMs) return;
    this.#wakeMs = ms;
    this.#events.put(ms, { kind: 'wake' });
  }

  #find(sessionId: string): SimulatedSession {
    const session = this.#live.get(sessionId);
    if (session === undefined) throw new Error(`the plan names ${sessionId}, which neither waits nor runs`);
    return session;
  }
}
