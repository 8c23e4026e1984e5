import type { Node, OperationId, Principal } from '../../contract/index.js';
import type { ApiDeps } from '../deps.js';
import { drainPlanOf } from '../drain-plan.js';
import type { Checks, Handlers } from '../handler.js';
import { kick } from '../kick.js';
import { found, invalid, problem } from '../problem.js';

type Ids = Extract<
  OperationId,
  | 'cordonNode'
  | 'uncordonNode'
  | 'drainNode'
  | 'nodeDrainPlan'
  | 'markNodeUnhealthy'
  | 'markNodeHealthy'
  | 'moveNode'
  | 'cancelNodeMove'
  | 'warmNode'
>;

/** A dry run is refused as the change would be: the node is there, and so is the group that it moves to. */
export function nodeChecks({ store }: ApiDeps) {
  const isThere = async ({ params: { name } }: { readonly params: { readonly name: string } }): Promise<void> =>
    void found(await store.nodes.get(name), `node ${name}`);
  return {
    cordonNode: isThere,
    uncordonNode: isThere,
    markNodeUnhealthy: isThere,
    markNodeHealthy: isThere,
    warmNode: isThere,
    async moveNode({ params: { name }, body: { toGroup } }, { principal }) {
      const node = found(await store.nodes.get(name), `node ${name}`);
      if ((await store.settings.getGroup(toGroup, principal)) === null) throw noGroup(toGroup);
      if (node.group === toGroup && node.move === null) throw sameGroup(name, toGroup);
    },
  } satisfies Checks;
}

const noGroup = (group: string) => invalid('/toGroup', `there is no group ${group}`);
const sameGroup = (name: string, group: string) => problem('conflict', `node ${name} is in the group ${group} already`);
const actorOf = ({ actingUserName }: Principal): string => actingUserName;

/** Cordons, drains, marks and moves: each is written down, then a planner of the node's group looks. Twice is once. */
export function nodeUpkeepHandlers(deps: ApiDeps): Handlers<Ids> {
  const { nodes } = deps.store;
  const there = (node: Node | null, name: string): Node => found(node, `node ${name}`);
  /** What runs has to leave: a planner looks even when nobody waits. */
  const changed = async (node: Node, onlyIfWaiting = false): Promise<Node> => {
    await kick(deps, node.group, onlyIfWaiting);
    return node;
  };
  return {
    cordonNode: async ({ params: { name }, body }) =>
      changed(there(await nodes.setCordon(name, true, body.reason), name), true),
    uncordonNode: async ({ params: { name } }) => changed(there(await nodes.setCordon(name, false, ''), name), true),
    async drainNode({ query, params: { name }, body }, { principal }) {
      const { reason, deadlineSeconds = null } = body;
      if (!query.dryRun) {
        await changed(there(await nodes.drain(name, { reason, deadlineSeconds, actor: actorOf(principal) }), name));
      }
      return drainPlanOf(deps, there(await nodes.get(name), name), { deadlineSeconds, viewer: principal });
    },
    nodeDrainPlan: async ({ params: { name } }, { principal }) =>
      drainPlanOf(deps, there(await nodes.get(name), name), { deadlineSeconds: null, viewer: principal }),
    markNodeUnhealthy: async ({ params: { name }, body }, { principal }) =>
      changed(there(await nodes.markUnhealthy(name, body.reason, actorOf(principal)), name)),
    markNodeHealthy: async ({ params: { name } }, { principal }) =>
      changed(there(await nodes.markHealthy(name, actorOf(principal)), name), true),
    async moveNode({ params: { name }, body }, { principal }) {
      const { toGroup, at = null, repeat, deadlineSeconds = null } = body;
      const moved = await nodes.setMove(name, { toGroup, at, repeat, deadlineSeconds }, actorOf(principal));
      if (moved === 'missing') return there(null, name);
      if (moved === 'no-group') throw noGroup(toGroup);
      if (moved === 'same-group') throw sameGroup(name, toGroup);
      return changed(moved);
    },
    cancelNodeMove: async ({ params: { name } }) => changed(there(await nodes.cancelMove(name), name)),
    async warmNode({ params: { name }, body }) {
      const node = there(await nodes.get(name), name);
      if (node.state === 'LOST' || node.state === 'REGISTERED') {
        throw problem('conflict', `node ${name} is ${node.state}: its agent takes no orders`);
      }
      await deps.door.warmNode(name, body.images);
      return node;
    },
  };
}
