import type { ProcessIdentity } from '../../platform/process-identity.js';
import type { RunAs } from './postgres-binaries.js';

/** One process of `berth up`: how to start it, see it ready, and end it. Data, so that tests hand in other tables. */
export interface ChildSpec {
  readonly name: string;
  /** Started in rising order; equals go together. */
  readonly startRank: number;
  /** Stopped in rising order; equals go together. */
  readonly stopRank: number;
  /** `node`: gets an IPC channel and ends by itself when the supervisor dies. `program`: stays, and is adopted. */
  readonly kind: 'node' | 'program';
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly runAs?: RunAs;
  readonly stopSignal: NodeJS.Signals;
  /** After this it is killed. */
  readonly stopSeconds: number;
  /** A real probe: a connection, an answer. Called about every 100 ms until it says true. */
  isReady(): Promise<boolean>;
  /** Runs before each start; must be safe to run twice. */
  prepare?(): Promise<void>;
  /** Runs after each readiness; must be safe to run twice. A failure is logged and shown, and is tried at the next one. */
  afterReady?(): Promise<void>;
  /** Looked at each second of its life: somebody told it to end, and it waits for clients that wait for it. It is then stopped. */
  isLeaving?(): Promise<boolean>;
  /** The process of an earlier supervisor that can be taken over as it is. */
  findOrphan?(): ProcessIdentity | undefined;
}

export const CHILD_STATES = ['waiting', 'starting', 'ready', 'restarting', 'stopping', 'stopped'] as const;
export type ChildState = (typeof CHILD_STATES)[number];

export interface ChildStatus {
  readonly name: string;
  readonly kind: ChildSpec['kind'];
  readonly stopRank: number;
  readonly state: ChildState;
  readonly process: ProcessIdentity | null;
  readonly isAdopted: boolean;
  /** Starts after the first one. */
  readonly restarts: number;
  /** When `state` began, ISO 8601. */
  readonly since: string;
  /** How the last life ended, or what the last step failed with. */
  readonly detail: string;
  readonly stopSignal: NodeJS.Signals;
  readonly stopSeconds: number;
}
