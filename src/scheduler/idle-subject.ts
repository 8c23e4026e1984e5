import type { IdleCriterion, IdlePolicy, SessionId, SessionKind } from '../contract/index.js';

/** One measure of one kernel, over its present segment of unbroken measurements. */
export interface Measured {
  /** null: not known. */
  readonly value: number | null;
  /** The last moment at which it was not below its threshold, or the beginning of what is known. */
  readonly lowSinceMs: number;
}

export interface MeasuredKernel {
  /** Of the newest measurement; null: there is none of this attempt. */
  readonly lastAtMs: number | null;
  readonly everyMs: number;
  /** What the policy asks for; null of a kernel that has no device. */
  readonly cpu: Measured;
  readonly memory: Measured;
  readonly gpu: Measured | null;
  readonly gpuMemory: Measured | null;
}

/** A running session whose group has an idle policy for its kind, and what was measured of it. */
export interface IdleSubject {
  readonly sessionId: SessionId;
  readonly attempt: number;
  readonly kind: SessionKind;
  readonly project: string;
  readonly policy: IdlePolicy;
  readonly startedAtMs: number;
  /** The end of its minimum runtime. */
  readonly protectedUntilMs: number;
  readonly exemptions: readonly IdleCriterion[];
  readonly hasPorts: boolean;
  /** Kernels that have not exited. */
  readonly kernels: readonly MeasuredKernel[];
  readonly requests: {
    readonly inFlight: number;
    readonly lastAtMs: number | null;
    /** All gateways have reported without a gap since then; null: one is silent, or there is none. */
    readonly coveredSinceMs: number | null;
  };
  readonly warnedAtMs: number | null;
}
