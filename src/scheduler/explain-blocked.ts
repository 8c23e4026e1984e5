import type { Waiting } from '../contract/plan.js';
import type { SlotName } from '../contract/slots.js';
import type { SnapshotNode } from '../contract/snapshot.js';
import { amountText, listText } from './amount-text.js';
import type { Demand } from './demand.js';
import { deviceViewOf, holds, type NodeTable, openNodesOf } from './node-table.js';
import { nodeVerdict } from './node-verdict.js';
import { SEARCH_STEPS } from './search-assignment.js';
import {
  capacityOf,
  type Lack,
  lacksOn,
  lackText,
  nearestNode,
  neededSlots,
  nodeBlockers,
  subjectOf,
  type Wanted,
} from './shortage.js';

/** Why a session waits: all of a plan's entry but whose it is. */
export type Refusal = Omit<Waiting, 'sessionId' | 'version' | 'nearest' | 'expectedStart' | 'decay'>;

export interface BlockedBy {
  /** What is left now. */
  readonly now: NodeTable;
  /** The same nodes with all released. */
  readonly empty: NodeTable;
  readonly group: string;
  readonly slotOrder: readonly SlotName[];
  /** The search for a multi-node assignment met its budget. */
  readonly gaveUp: boolean;
}

/**
 * No node has room now, but READY nodes could hold the request. `fragmented` when the sum over the nodes that it may
 * use would suffice, else `insufficient_capacity`; both with the numbers of the nearest node, or of the group.
 */
export function explainBlocked(context: BlockedBy, demand: Demand): Refusal {
  const { now } = context;
  const free = deviceViewOf(now, demand.gpuModel);
  const wanted: Wanted = { unit: demand.total, free, gpuModel: demand.gpuModel };
  const mask = openNodesOf(now, demand.architecture);
  const lacks = lacksInAll(context, { wanted, mask });
  const told = demand.spread
    ? explainSpread(context, demand, { lacks, mask })
    : explainOne(context, demand, { lacks, wanted, mask });
  return {
    reason: lacks.length === 0 ? 'fragmented' : 'insufficient_capacity',
    ...told,
    violations: [],
    nodes: nodeVerdict(now, demand),
  };
}

interface Look {
  readonly wanted: Wanted;
  readonly mask: Uint8Array;
}

/** What all nodes of the mask together lack. */
function lacksInAll({ now, slotOrder }: BlockedBy, { wanted, mask }: Look): readonly Lack[] {
  return neededSlots(slotOrder)
    .map((slot) => {
      const amounts = slot === 'gpuCount' ? wanted.free.whole : now[slot];
      const free = amounts.reduce((sum, amount, i) => sum + (mask[i] === 1 ? Math.max(0, amount) : 0), 0);
      return { slot, need: wanted.unit[slot], free };
    })
    .filter(({ need, free }) => free < need);
}

/** Names the nearest of the nodes that could hold it at all: a small node with a little more room would mislead. */
function explainOne(
  { now, empty, slotOrder }: BlockedBy,
  demand: Demand,
  { lacks: inAll, wanted, mask }: Look & { readonly lacks: readonly Lack[] },
): Pick<Refusal, 'message' | 'blockers'> {
  const gpuWhenEmpty = deviceViewOf(empty, demand.gpuModel);
  const able = mask.map((open, i) =>
    open === 1 && holds(empty, i, { unit: demand.total, free: gpuWhenEmpty }) ? 1 : 0,
  );
  const slots = neededSlots(slotOrder);
  const nearest = nearestNode(now, able, { wanted, slots });
  const node = now.nodes[nearest] as SnapshotNode;
  const lacks = lacksOn(now, nearest, { wanted, slots });
  const fragmented = inAll.length === 0;
  const where = (free: string): string =>
    fragmented
      ? `that much is free, but not on one node: the most is on ${node.name} with ${free} free`
      : `the most room is on ${node.name} with ${free} free`;
  const message = lackText(lacks, { subject: subjectOf(demand), gpuModel: demand.gpuModel, where });
  return { message, blockers: nodeBlockers(node, lacks, demand.gpuModel) };
}

function explainSpread(
  { now, group, gaveUp }: BlockedBy,
  demand: Demand,
  { lacks, mask }: { readonly lacks: readonly Lack[]; readonly mask: Uint8Array },
): Pick<Refusal, 'message' | 'blockers'> {
  const nodes = now.nodes.filter((_node, i) => mask[i] === 1);
  const { gpuModel, total } = demand;
  const whole = (slot: Lack['slot']) => nodes.reduce((sum, node) => sum + capacityOf(node, slot, gpuModel), 0);
  const blocker = ({ slot, need, free }: Lack) => {
    const limit = whole(slot);
    return {
      kind: 'capacity' as const,
      scope: 'group',
      name: group,
      resource: slot,
      need,
      used: Math.max(0, limit - free),
      limit,
    };
  };
  if (lacks.length > 0) {
    const where = (free: string): string => `all nodes have ${free} free`;
    const message = lackText(lacks, { subject: subjectOf(demand), gpuModel, where });
    return { message, blockers: lacks.map(blocker) };
  }
  const gpu = deviceViewOf(now, gpuModel).whole;
  const slots = (['gpuCount', 'cpuMilli', 'memoryBytes'] as const).filter((slot) => total[slot] > 0);
  const needs = listText(slots.map((slot) => amountText(slot, total[slot], slot === 'gpuCount' ? gpuModel : null)));
  const free = (slot: Lack['slot']) =>
    (slot === 'gpuCount' ? gpu : now[slot]).reduce(
      (sum, amount, i) => sum + (mask[i] === 1 ? Math.max(0, amount) : 0),
      0,
    );
  const because = gaveUp
    ? `the search for an assignment ended after ${SEARCH_STEPS} steps`
    : 'it is split so that no assignment of whole kernels to nodes exists';
  const message = `${subjectOf(demand)} ${needs}; that much is free in all, but ${because}`;
  return { message, blockers: slots.map((slot) => blocker({ slot, need: total[slot], free: free(slot) })) };
}
