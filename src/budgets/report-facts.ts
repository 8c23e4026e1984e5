import type { BudgetVersion } from './claims-over-time.js';
import type { GpuTime } from './gpu-time.js';

/** GPU-time of each cell. */
export type CellTimes = readonly GpuTime[];

/** Occupancy of one account: charged, free (no minimum runtime), and taken back (the platform failed it, or broke its contract). */
export interface AccountTimes {
  readonly charged: CellTimes;
  readonly unallocated: CellTimes;
  readonly uncharged: CellTimes;
}

export interface ReportSession {
  readonly sessionId: string;
  readonly name: string;
  readonly user: string;
  readonly project: string;
  readonly budgetId: string | null;
}

/** A session that waited for its first GPU within the period, or waits at its end. */
export interface FirstStart {
  readonly budgetId: string | null;
  readonly minRuntimeMs: number;
  /** From when it could start: its submission, or the start that it asked for. */
  readonly sinceMs: number;
  /** When all its kernels ran first; null: not by the end of the period. */
  readonly startedMs: number | null;
}

/** Charged work of one session, and how much of it was used, as far as that was measured. */
export interface PaidSession extends ReportSession {
  readonly paid: GpuTime;
  readonly measured: GpuTime;
  readonly used: GpuTime;
}

export interface BrokenAttempt extends ReportSession {
  readonly attempt: number;
  readonly startMs: number | null;
  readonly endMs: number;
  readonly minRuntimeMs: number;
  readonly time: GpuTime;
}

/** All that a report is worked out from. Sums are exact integrals over the period, or over the cells of its grid. */
export interface ReportFacts {
  readonly edgesMs: readonly number[];
  readonly periodEdgesMs: readonly number[];
  readonly groups: readonly string[];
  /** Closed ones too. */
  readonly budgets: readonly {
    readonly id: string;
    readonly path: string;
    readonly parentId: string | null;
    readonly isOpen: boolean;
  }[];
  readonly versions: readonly BudgetVersion[];
  readonly total: CellTimes;
  readonly healthy: CellTimes;
  readonly leaves: readonly (AccountTimes & { readonly budgetId: string; readonly demand: CellTimes })[];
  /** Work without a budget. */
  readonly projects: readonly (AccountTimes & { readonly project: string })[];
  /** Of all occupancy. Empty: nothing was measured. */
  readonly measured: readonly {
    readonly budgetId: string | null;
    readonly measured: GpuTime;
    readonly used: GpuTime;
  }[];
  readonly starts: readonly FirstStart[];
  readonly paid: readonly PaidSession[];
  readonly broken: readonly BrokenAttempt[];
}
