import type { SlotName } from '../contract/slots.js';
import type { SnapshotNode } from '../contract/snapshot.js';
import type { Blocker, NearestNode } from '../contract/why.js';
import { listText } from './amount-text.js';
import { type Demand, kernelClasses } from './demand.js';
import type { Refusal } from './explain-blocked.js';
import { deviceViewOf, holds, isKnown, type NodeTable } from './node-table.js';
import { nodeVerdict } from './node-verdict.js';
import { movesTooSoon, nodesOpenTo, requirement } from './nodes-open-to.js';
import { nearestOf, neededSlots } from './shortage.js';

/**
 * No READY node could hold the request even when empty, while some node could: nothing that is placed behind it can take
 * what it waits for, so it does not stop the pass.
 */
export function explainUnschedulable(
  empty: NodeTable,
  demand: Demand,
  { group, slotOrder }: { readonly group: string; readonly slotOrder: readonly SlotName[] },
): Refusal {
  const mayBe = requirement(demand);
  const closed = empty.nodes.filter((node, i) => mayBe(node) && empty.open[i] === 0 && isKnown(node));
  const moving = empty.nodes.filter((node, i) => mayBe(node) && empty.open[i] === 1 && movesTooSoon(empty, i, demand));
  const named = [...closed, ...moving].slice(0, 5);
  const blockers: Blocker[] = named.map((node) => blocker('node', node.name));
  const nodes = empty.nodes.filter(mayBe);
  return {
    reason: 'no_schedulable_node',
    message: messageFor(demand, { group, nodes, all: empty.nodes.length, closed, moving }),
    blockers: blockers.length > 0 ? blockers : [blocker('group', group)],
    violations: [],
    nodes: nodeVerdict(empty, demand),
    nearest: nearestWhenEmpty(empty, demand, slotOrder),
  };
}

/** Of READY nodes that it may use: what the nearest lacks even when empty. */
function nearestWhenEmpty(empty: NodeTable, demand: Demand, slotOrder: readonly SlotName[]): NearestNode | null {
  const mask = nodesOpenTo(empty, demand);
  const free = deviceViewOf(empty, demand.gpuModel);
  const unit = demand.spread
    ? kernelClasses(demand).find((each) => !mask.some((open, i) => open === 1 && holds(empty, i, { unit: each, free })))
    : demand.total;
  if (unit === undefined) return null;
  const wanted = { unit, free, gpuModel: demand.gpuModel };
  return nearestOf(empty, mask, { wanted, slots: neededSlots(slotOrder) });
}

const blocker = (kind: 'node' | 'group', name: string): Blocker => ({
  kind,
  scope: kind,
  name,
  resource: null,
  need: null,
  used: null,
  limit: null,
});

interface Told {
  readonly group: string;
  /** Those that the request may use by its wishes. */
  readonly nodes: readonly SnapshotNode[];
  readonly all: number;
  readonly closed: readonly SnapshotNode[];
  readonly moving: readonly SnapshotNode[];
}

function messageFor({ wishes }: Demand, { group, nodes, all, closed, moving }: Told): string {
  if (all === 0) return `group ${group} has no node yet`;
  const required = wishes?.nodesRequired === true ? ` among ${listText(wishes.nodes)}` : '';
  const zone = wishes?.zoneRequired === true ? ` in zone ${wishes.zone}` : '';
  const which = `of group ${group}${zone}${required}`;
  if (nodes.length === 0) return `there is no node ${which}, where it has to be`;
  const ready = nodes.filter(({ state }) => state === 'READY').length;
  const tail = [
    ...some(closed, (node) => `${node.name} is ${node.state}`),
    ...some(moving, (node) => `${node.name} leaves the group before this could be stopped`),
  ].map((part) => `; ${part}`);
  if (ready === 0) return `none of the ${nodes.length} nodes ${which} is READY${tail.join('')}`;
  return `none of the ${ready} READY nodes ${which} could hold it with its healthy devices, even when empty${tail.join('')}`;
}

function some(nodes: readonly SnapshotNode[], say: (node: SnapshotNode) => string): readonly string[] {
  if (nodes.length === 0) return [];
  const more = nodes.length > 5 ? `, and ${nodes.length - 5} more` : '';
  return [`${listText(nodes.slice(0, 5).map(say))}${more}`];
}
