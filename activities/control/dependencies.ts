import type { KernelId, Plan, SnapshotPending } from '../../src/contract/index.js';
import type { Store } from '../../src/store/store.js';
import type { TemporalDoor } from '../../src/temporal/door.js';

/** What the control activities are handed. Tests hand in the same real parts, and now and then one that fails. */
export interface ControlDependencies {
  readonly store: Store;
  readonly door: TemporalDoor;
  readonly newKernelId: () => KernelId;
  readonly log: { readonly warn: (fields: object, message: string) => void };
  /** Counts what happened, by name, for metrics. */
  readonly count: (name: string, by?: number) => void;
}
export type { Plan, SnapshotPending };
