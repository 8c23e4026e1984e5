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
  /** A pool with something under way is planned at least this often, kick or no kick. */
  readonly poolNetMs: number;
  /** And so often one where nothing is: its agents look each 10 s, and wake the planner when something is due. */
  readonly poolRestMs: number;
  /** A claim looks at its orders at least this often while it carries one out, so that it notices one that was taken back. */
  readonly modelNetMs: number;
  /** And so often while it has none: whoever gives it one signals, and the sweeper signals again. */
  readonly modelRestMs: number;
  /** A deployment with something under way, or with rules, is looked at this often, kick or no kick. */
  readonly deploymentNetMs: number;
  /** And so often one at rest: whatever changes it kicks, and the sweeper kicks again. */
  readonly deploymentRestMs: number;
}

export const DEFAULT_DURATIONS: Durations = {
  nodeSilenceMs: 40_000,
  lostPollMs: 600_000,
  slowNetMs: 30_000,
  nodeScheduleToStartMs: 30_000,
  removeRetryMs: 5_000,
  poolNetMs: 10_000,
  poolRestMs: 60_000,
  modelNetMs: 30_000,
  modelRestMs: 600_000,
  deploymentNetMs: 5_000,
  deploymentRestMs: 300_000,
};

/** As one installation wants them; undefined: the defaults of whatever build a workflow runs on. */
export const durationsOf = (nodeSilenceSeconds: number | undefined): Durations | undefined =>
  nodeSilenceSeconds === undefined
    ? undefined
    : { ...DEFAULT_DURATIONS, nodeSilenceMs: Math.round(nodeSilenceSeconds * 1000) };

/** A wake is never armed closer than this: Temporal's timer may fire before Postgres's moment. */
export const WAKE_FLOOR_MS = 1_000;

/** Limits of a member are written and read back within this, or its node did not answer: the other members go on. */
export const LIMIT_WRITE_MS = 5_000;
/** A start of an engine, its artifact's download included: a minute longer than the agent gives it by itself. */
export const ENGINE_START_MS = 1_860_000;
/** Requests in flight are waited for so long before an engine is stopped. */
export const ENGINE_DRAIN_SECONDS = 90;
/** For a sleep, or a wake: copying the weights takes seconds, and the look at what is in flight less. */
export const ENGINE_CHANGE_MS = 300_000;
