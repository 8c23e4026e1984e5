import type { GroupPolicy } from '../contract/group-policy.js';
import type { BudgetPlan } from './budget-plan.js';
import type { NodeShape } from './simulated-cluster.js';
import type { SimulatedJob } from './simulated-job.js';

export interface SimulationInput {
  readonly nodes: readonly NodeShape[];
  /** In any order. */
  readonly jobs: readonly SimulatedJob[];
  readonly policy: GroupPolicy;
  /** Whom the order `fair-share` charges; without effect under another. */
  readonly budgets?: BudgetPlan | null;
  /** The run ends then; what has not ended is `open`. Without it, when nothing more can happen. */
  readonly untilMs?: number;
  /** Every pass is made and shown the whole queue, also where its decisions can be had with less. */
  readonly isUnabridged?: boolean;
}
