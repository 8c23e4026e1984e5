import type { Blocker } from '../../contract/index.js';

/** A session as it was seen. */
export interface SeenSession {
  readonly id: string;
  readonly state: string;
  /** Of the why object; null while it runs and after its end. */
  readonly reason: string | null;
  readonly message: string;
  readonly blockers: readonly Blocker[];
  /** 1 is the head; null when it does not wait. */
  readonly position: number | null;
  readonly cause: string | null;
  /** Where its kernels are; empty while it waits. */
  readonly nodes: readonly string[];
  /** When it will start at the latest, as `why` says. */
  readonly expectedStart: string | null;
  readonly placedAt: string | null;
}

/** What is promised on the nodes of the group, by the ledger. */
export interface SeenUse {
  readonly cpuMilli: number;
  readonly cpuMilliCapacity: number;
  readonly gpus: number;
  readonly gpuCapacity: number;
}

/** One look at everything that a demonstration speaks of; read within milliseconds, not in one moment. */
export interface Sample {
  readonly at: string;
  readonly elapsedSeconds: number;
  readonly step: string;
  /** By the label that the demonstration gives a session. */
  readonly sessions: Readonly<Record<string, SeenSession>>;
  readonly use: SeenUse;
}

/** What must be seen: a sentence, and a test on one sample. */
export interface Expectation {
  readonly says: string;
  readonly holds: (sample: Sample) => boolean;
  /** What was seen instead, in the same words. */
  readonly seen: (sample: Sample) => string;
}
