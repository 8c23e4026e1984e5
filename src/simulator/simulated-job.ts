/** One submission of a stream: what it asks for, and what it would do if nobody stopped it. Whole ms from the stream's begin. */
export interface SimulatedJob {
  /** Unique in the stream. */
  readonly name: string;
  readonly user: string;
  /** Who is compared in reports: a project, or a leaf of the budget tree. */
  readonly project: string;
  readonly submittedMs: number;
  /** How long it works from start to end, uninterrupted; at least 1. */
  readonly durationMs: number;
  /** At least 1. One kernel when a node can hold them all, else kernels of whole nodes and the rest. */
  readonly gpus: number;
  readonly priority: number;
  readonly minRuntimeMs: number;
  /** The bound that the scheduler knows; null: none was given. It ends then, done or not. */
  readonly maxRuntimeMs: number | null;
  readonly preemptible: boolean;
  /** Goes on from its last checkpoint after a stop; else it begins anew. */
  readonly resumable: boolean;
  /** Between two checkpoints of a resumable one; 0: it makes one within the notice of a stop, and loses nothing. */
  readonly checkpointMs: number;
  /** Holds its GPUs and does nothing with them. */
  readonly parked: boolean;
}

/** GPUs that were held from one moment to another, in ms from the stream's begin. */
export interface HeldSpan {
  readonly fromMs: number;
  readonly toMs: number;
  readonly nodes: readonly string[];
  /** GPUs × factor, in thousandths. */
  readonly milliGpus: number;
}

/** What became of a job. Times are ms from the stream's begin; null: it did not come to that. */
export interface JobOutcome {
  readonly job: SimulatedJob;
  readonly startedMs: number | null;
  readonly endedMs: number | null;
  /** `done`: it worked for its duration; `cut`: its maximum runtime ended it; `stopped`: for others, and not put back; `open` at the end of the run. */
  readonly end: 'done' | 'cut' | 'stopped' | 'cancelled' | 'refused' | 'open';
  readonly stops: number;
  /** One for each attempt, in order; the last one of an open job ends with the run. */
  readonly held: readonly HeldSpan[];
  /** GPU·ms of work that stops threw away. */
  readonly lostGpuMs: number;
}
