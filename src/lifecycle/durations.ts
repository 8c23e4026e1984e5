/**
 * Every duration of the control plane that is not a request's or a group's own, in milliseconds. A workflow gets them with
 * its input, so tests give short ones and a running workflow keeps those it began with.
 */
export interface Durations {
  /** Silence of a node that makes it LOST. */
  readonly nodeSilenceMs: number;
  /** A LOST node is asked about this often; longer than any group's lostAfter is not needed. */
  readonly lostPollMs: number;
  /** A group plans at least this often, kick or no kick. */
  readonly slowNetMs: number;
  /** A node that does not take an order within this is not there. */
  readonly nodeScheduleToStartMs: number;
  /** Waits between tries to remove containers from a node that answers with failures. */
  readonly removeRetryMs: number;
}

export const DEFAULT_DURATIONS: Durations = {
  nodeSilenceMs: 40_000,
  lostPollMs: 600_000,
  slowNetMs: 30_000,
  nodeScheduleToStartMs: 30_000,
  removeRetryMs: 5_000,
};

/** As one installation wants them; undefined: the defaults of whatever build a workflow runs on. */
export const durationsOf = (nodeSilenceSeconds: number | undefined): Durations | undefined =>
  nodeSilenceSeconds === undefined
    ? undefined
    : { ...DEFAULT_DURATIONS, nodeSilenceMs: Math.round(nodeSilenceSeconds * 1000) };

/** A wake is never armed closer than this: Temporal's timer may fire before Postgres's moment. */
export const WAKE_FLOOR_MS = 1_000;
