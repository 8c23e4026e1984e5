import type { Timestamp } from '../contract/ids.js';
import type { DrainPlan } from '../contract/node.js';
import type { Snapshot, SnapshotRunning } from '../contract/snapshot.js';
import { type DrainStop, drainStop } from './drain-stop.js';
import { msOf, timestampOf } from './moments.js';
import { runningUnder, termsOf, thenOf } from './under-budgets.js';

export interface DrainQuestion {
  readonly node: string;
  /** Then even protected work is stopped; null: nothing is broken. */
  readonly deadline: Timestamp | null;
  /** How the owners are called; their ids when omitted. */
  readonly ownerOf?: (session: SnapshotRunning) => { readonly user: string; readonly project: string };
}

type Ground = {
  readonly group: Pick<Snapshot['group'], 'policy'>;
  readonly running: Snapshot['running'];
  readonly budgets?: Snapshot['budgets'];
};

const idsOf = ({ userId, projectId }: SnapshotRunning) => ({ user: userId, project: projectId });

/**
 * Who stops when if the node drains from `now` on: the dry run, and the outlook of a drain that is under way. In order of
 * stops, then by id. A gang that lies on this node only in part is stopped whole. Bounds of a session that is starting
 * count from now; they move until it runs.
 */
export function drainPlan(ground: Ground, question: DrainQuestion, now: Timestamp): DrainPlan {
  const { node, deadline, ownerOf = idsOf } = question;
  const limits = { nowMs: msOf(now), deadlineMs: deadline === null ? Number.POSITIVE_INFINITY : msOf(deadline) };
  const budgets = ground.budgets ?? null;
  const { policy } = ground.group;
  const terms = budgets === null ? null : termsOf(budgets);
  const running = terms === null ? ground.running : ground.running.map((each) => runningUnder(terms, each, now));
  const stops = running
    .filter(({ kernels }) => kernels.some((kernel) => kernel.node === node))
    .map((session) => ({ session, stop: drainStop(session, limits) }))
    .toSorted((a, b) => a.stop.stopMs - b.stop.stopMs || (a.session.id < b.session.id ? -1 : 1));
  const emptyMs = Math.max(...stops.map(({ stop }) => stop.goneMs));
  return {
    node,
    emptyAt: stops.length === 0 ? null : timestampOf(emptyMs),
    stops: stops.map(({ session, stop }) => ({
      ...lineOf(session, stop),
      ...ownerOf(session),
      then: thenOf({ policy, isFairShare: terms !== null }, session),
    })),
  };
}

const lineOf = (session: SnapshotRunning, stop: DrainStop) => ({
  sessionId: session.id,
  name: session.name,
  gpuCount: session.kernels.reduce((sum, { slots }) => sum + slots.gpuCount, 0),
  stopAt: timestampOf(stop.stopMs),
  goneBy: timestampOf(stop.goneMs),
  because: stop.because,
  breaksMinRuntime: stop.breaksMinRuntime,
});
