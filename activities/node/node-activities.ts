import type { StartFailure } from '../../src/contract/index.js';

export interface StartKernels {
  readonly sessionId: string;
  readonly attempt: number;
  readonly kernels: readonly { readonly kernelId: string; readonly epoch: number }[];
}

export interface RemoveKernels {
  readonly sessionId: string;
  readonly attempt: number;
  readonly kernelIds: readonly string[];
  /** From SIGTERM to SIGKILL; 0 kills at once. */
  readonly graceMs: number;
}

export interface NoticeKernels {
  readonly sessionId: string;
  readonly attempt: number;
  readonly kernelIds: readonly string[];
  /** How long they have from now on until they are killed; a checkpoint command is not waited for beyond it. */
  readonly graceMs: number;
}

export interface WarmImages {
  readonly images: readonly string[];
}

/** Activities on `node/<name>`: they touch containers and never the database. Each is safe to run twice. */
export interface NodeActivities {
  /**
   * Fetches each kernel's launch order, pulls, creates and starts; heartbeats with its phase. Done when all containers run.
   * A failure of the request or the machine is an ApplicationFailure of type `StartFailure`, not retryable, whose one
   * detail is a {@link StartFailure}; it has removed what it created. Other failures are retried.
   */
  startKernels(order: StartKernels): Promise<void>;
  /** Stops, reports the exits, keeps the logs, removes the containers and gives back their ports. What is not there is success. */
  removeKernels(order: RemoveKernels): Promise<void>;
  /**
   * Tells kernels that they will be stopped, as their launch order says: its checkpoint command is begun in the main kernel,
   * or its signal goes to each of them. Returns once that is delivered and stops nothing: `removeKernels` ends them. A kernel
   * gets one notice an attempt, however often this is called; one that has ended or is gone is success.
   */
  notice(order: NoticeKernels): Promise<void>;
  /**
   * Pulls images one after the other, in their order; one that is there is success. A failure is an ApplicationFailure of
   * type `WarmFailure` whose message names the image; it is not retryable when another request is what mends it.
   */
  warm(order: WarmImages): Promise<void>;
  /** The node's beat: heartbeats until it is cancelled. Cancelling it stops no container. */
  presence(node: string): Promise<void>;
}

export const START_FAILURE = 'StartFailure';
export const WARM_FAILURE = 'WarmFailure';
export type { StartFailure };
