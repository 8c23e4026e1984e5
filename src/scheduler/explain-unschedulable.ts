import type { SnapshotNode } from '../contract/snapshot.js';
import type { Blocker } from '../contract/why.js';
import { listText } from './amount-text.js';
import type { Demand } from './demand.js';
import type { Refusal } from './explain-blocked.js';
import { isKnown, type NodeTable } from './node-table.js';
import { nodeVerdict } from './node-verdict.js';

/**
 * No READY node could hold the request even when empty, while some node could: nothing that is placed behind it can take
 * what it waits for, so it does not stop the pass.
 */
export function explainUnschedulable(empty: NodeTable, demand: Demand, group: string): Refusal {
  const closed = empty.nodes.filter((node, i) => empty.open[i] === 0 && isKnown(node));
  const ready = empty.nodes.length - empty.nodes.filter((node) => node.state !== 'READY').length;
  const blockers: Blocker[] = closed.slice(0, 5).map((node) => blocker('node', node.name));
  return {
    reason: 'no_schedulable_node',
    message: messageFor(empty.nodes, { group, ready, closed }),
    blockers: blockers.length > 0 ? blockers : [blocker('group', group)],
    violations: [],
    nodes: nodeVerdict(empty, demand),
  };
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

function messageFor(
  nodes: readonly SnapshotNode[],
  {
    group,
    ready,
    closed,
  }: { readonly group: string; readonly ready: number; readonly closed: readonly SnapshotNode[] },
): string {
  if (nodes.length === 0) return `group ${group} has no node yet`;
  const others = listText(closed.slice(0, 5).map((node) => `${node.name} is ${node.state}`));
  const more = closed.length > 5 ? `, and ${closed.length - 5} more` : '';
  const tail = closed.length === 0 ? '' : `; ${others}${more}`;
  if (ready === 0) return `none of the ${nodes.length} nodes of group ${group} is READY${tail}`;
  return `none of the ${ready} READY nodes of group ${group} could hold it with its healthy devices, even when empty${tail}`;
}
