import type { KernelId, Plan, Snapshot, SnapshotPending } from '../../src/contract/index.js';
import type { MetricAnswer } from '../../src/deployments/scale-turn.js';
import type { Seal } from '../../src/platform/seal.js';
import type { Store } from '../../src/store/store.js';
import type { TemporalDoor } from '../../src/temporal/door.js';

/** All that a pass decided from, and what it decided: planned again it is the same plan. */
export interface RecordedPass {
  readonly now: string;
  readonly snapshot: Snapshot;
  readonly plan: Plan;
}

/** What the control activities are handed. Tests hand in the same real parts, and now and then one that fails. */
export interface ControlDependencies {
  readonly store: Store;
  readonly door: TemporalDoor;
  readonly newKernelId: () => KernelId;
  /** A fresh key of an engine, sealed to its instance: in clear it is known to the engine and the gateway alone. */
  readonly sealApiKey: (instanceId: string) => Buffer;
  /** Secrets of a revision are opened, and sealed again to each replica's session. */
  readonly seal: Seal;
  /** One number for one query; what keeps it away is said, not thrown. */
  readonly prometheus: (query: string) => Promise<MetricAnswer>;
  readonly log: { readonly warn: (fields: object, message: string) => void };
  /** Counts what happened, by name, for metrics. */
  readonly count: (name: string, by?: number) => void;
  /** Keeps each pass, before its commit and while the planner has the group. One that fails is told in the log and costs no pass. */
  readonly recordPass?: (pass: RecordedPass) => Promise<void>;
}
export type { Plan, SnapshotPending };
