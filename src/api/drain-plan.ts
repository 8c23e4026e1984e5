import type { DrainPlan, Node, Principal } from '../contract/index.js';
import { drainPlan } from '../scheduler/drain-plan.js';
import type { ApiDeps } from './deps.js';
import { found } from './problem.js';

export interface DrainWish {
  /** From now; null: the deadline of the drain that is under way, if it has one. */
  readonly deadlineSeconds: number | null;
  readonly viewer: Principal;
}

/** Who stops when on this node, by the ledger's clock, with its owners by name. Changes nothing. */
export async function drainPlanOf({ store }: ApiDeps, node: Node, wish: DrainWish): Promise<DrainPlan> {
  const snapshot = found(await store.planning.snapshot(node.group), `group ${node.group}`);
  const { takenAt: now } = snapshot;
  const deadline =
    wish.deadlineSeconds === null
      ? (node.drain?.deadline ?? null)
      : new Date(Date.parse(now) + wish.deadlineSeconds * 1000).toISOString();
  const plan = drainPlan(snapshot, { node: node.name, deadline }, now);
  const owners = await Promise.all(
    plan.stops.map(async ({ sessionId }) => store.sessions.find(sessionId, wish.viewer)),
  );
  const stops = plan.stops.map((stop, index) => {
    const { user, project } = owners[index] ?? stop;
    return { ...stop, user, project };
  });
  return { ...plan, stops };
}
