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
  /** The node's beat: heartbeats until it is cancelled. Cancelling it stops no container. */
  presence(node: string): Promise<void>;
}

export const START_FAILURE = 'StartFailure';
export type { StartFailure };
