import type { Principal } from '../contract/index.js';

/** [fromMs, untilMs) in ms since 1970; `untilMs` is not after the present. */
export interface ReportPeriodRead {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Of a session, as a report names it. */
export interface NamedSessionRow {
  readonly sessionId: string;
  readonly name: string;
  readonly user: string;
  /** As domain/project. */
  readonly project: string;
  readonly budgetId: string | null;
}

/** Whose first GPU came within the period, or who had none at its end though submitted before it. */
export interface FirstStartRow {
  readonly budgetId: string | null;
  readonly minRuntimeMs: number;
  /** Submission, or the start that it asked for. */
  readonly sinceMs: number;
  /** When all kernels of its first attempt that ran were running. */
  readonly startedMs: number | null;
}

/** GPU-time in thousandths of a GPU (× factor) × ms. `used` and `measured` come from the nodes' counters, by hour. */
export interface MeasuredRow {
  readonly budgetId: string | null;
  readonly measured: number;
  readonly used: number;
}
export interface PaidRow extends NamedSessionRow {
  readonly paid: number;
  readonly measured: number;
  readonly used: number;
}

export interface BrokenRow extends NamedSessionRow {
  readonly attempt: number;
  readonly startMs: number | null;
  readonly endMs: number;
  readonly minRuntimeMs: number;
  /** Of it within the period. */
  readonly time: number;
}

/** What a report asks of single sessions, in groups that order by fair share. Names are those that `viewer` may see; null sees all. */
export interface ReportStore {
  firstStarts(period: ReportPeriodRead): Promise<readonly FirstStartRow[]>;
  /** Of all occupancy, as far as it was measured: of an hour that the period cuts, its part. */
  measured(period: ReportPeriodRead): Promise<readonly MeasuredRow[]>;
  /** Charged sessions that used less than that part of what was measured of them, the most unused time first, at most 1000. */
  paidIdle(
    period: ReportPeriodRead,
    how: { readonly belowPercent: number; readonly viewer: Principal | null },
  ): Promise<readonly PaidRow[]>;
  /** Attempts that were stopped within their minimum runtime and returned within the period, the latest first, at most 1000. */
  broken(period: ReportPeriodRead, viewer: Principal | null): Promise<readonly BrokenRow[]>;
  /** Groups that order by fair share now. */
  fairShareGroups(): Promise<readonly string[]>;
  /** Paths (domain/project) of these projects, by id. */
  projectPaths(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
