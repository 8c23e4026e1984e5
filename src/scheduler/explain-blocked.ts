import type { Waiting } from '../contract/plan.js';
import type { SlotName } from '../contract/slots.js';
import type { SnapshotNode } from '../contract/snapshot.js';
import type { Blocker, NearestNode } from '../contract/why.js';
import { amountText, listText } from './amount-text.js';
import { type Demand, kernelClasses, type Unit } from './demand.js';
import { deviceViewOf, holds, type NodeTable } from './node-table.js';
import { nodeVerdict, type VerdictFacts } from './node-verdict.js';
import { nodesOpenTo } from './nodes-open-to.js';
import { withoutFailed } from './place.js';
import { rankingOf } from './ranking.js';
import { copyOf, type Room, vacate } from './rooms.js';
import { SEARCH_STEPS } from './search-assignment.js';
import { shareableBytes } from './share-room.js';
import {
  capacityOf,
  type Lack,
  lackAmount,
  lacksOn,
  lackText,
  nearestNode,
  nearestOf,
  neededSlots,
  nodeBlockers,
  subjectOf,
} from './shortage.js';

/** Why a session waits: all of a plan's entry but whose it is, and what the pass works out besides. */
export type Refusal = Omit<Waiting, 'sessionId' | 'version' | 'nearest' | 'expectedStart' | 'decay'> & {
  readonly nearest?: NearestNode | null;
};

export interface BlockedBy {
  /** What is left now. */
  readonly now: NodeTable;
  /** The same nodes with all released. */
  readonly empty: NodeTable;
  readonly group: string;
  readonly slotOrder: readonly SlotName[];
  /** The search for a multi-node assignment met its budget. */
  readonly gaveUp: boolean;
  /** Room that is promised in `now` and that nobody has yet: it is kept for others. */
  readonly kept?: readonly Room[];
}

/** What one explanation looks at: the nodes that the request may use now. */
interface Look extends BlockedBy {
  readonly demand: Demand;
  readonly mask: Uint8Array;
}

/**
 * No node has room now, but READY nodes could hold the request. `fragmented` when the sum over the nodes that it may
 * use would suffice, else `insufficient_capacity`; both with the numbers of the nearest node, or of the group.
 */
export function explainBlocked(context: BlockedBy, demand: Demand): Refusal {
  const { now, slotOrder } = context;
  const open = nodesOpenTo(now, demand);
  const others = withoutFailed(rankingOf(now, { placement: 'concentrated', slotOrder: [...slotOrder] }), demand, open);
  const look = { ...context, demand, mask: others ?? open };
  const lacks = lacksInAll(look);
  return {
    reason: lacks.length === 0 ? 'fragmented' : 'insufficient_capacity',
    ...(demand.spread ? explainSpread(look, lacks) : explainOne(look, lacks)),
    violations: [],
    nodes: nodeVerdict(now, demand, {
      ...(others !== null && { failedOn: new Set(demand.avoid) }),
      ...unkeptTable(context),
    }),
  };
}

function unkeptTable({ now, slotOrder, kept = [] }: BlockedBy): Pick<VerdictFacts, 'unkept'> {
  if (kept.length === 0) return {};
  const without = copyOf(rankingOf(now, { placement: 'concentrated', slotOrder: [...slotOrder] }));
  for (const room of kept) vacate(without, room);
  return { unkept: without.table };
}

/** What is free on all nodes of the mask together. Of GPU memory: on all devices that take shares. */
function freeInAll({ now, mask, demand }: Look, slot: SlotName): number {
  const { whole, model } = deviceViewOf(now, demand.gpuModel);
  let free = 0;
  for (let i = 0; i < mask.length; i += 1) {
    if (mask[i] === 0) continue;
    if (slot === 'gpuMemoryBytes') free += shareableBytes(now.devices, i, model);
    else free += Math.max(0, (slot === 'gpuCount' ? whole[i] : now[slot][i]) as number);
  }
  return free;
}

const neededInAll = ({ total, gpuMemoryBytes }: Demand, slot: SlotName): number =>
  slot === 'gpuMemoryBytes' ? gpuMemoryBytes : total[slot];

function lacksInAll(look: Look): readonly Lack[] {
  return neededSlots(look.slotOrder)
    .map((slot) => ({ slot, need: neededInAll(look.demand, slot) }))
    .filter(({ need }) => need > 0)
    .map(({ slot, need }) => ({ slot, need, free: freeInAll(look, slot) }))
    .filter(({ need, free }) => free < need);
}

type Told = Pick<Refusal, 'message' | 'blockers' | 'nearest'>;

/** Names the nearest of the nodes that could hold it at all: a small node with a little more room would mislead. */
function explainOne({ now, empty, slotOrder, demand, mask }: Look, inAll: readonly Lack[]): Told {
  const { gpuModel, total: unit } = demand;
  const whenEmpty = { unit, free: deviceViewOf(empty, gpuModel) };
  const able = mask.map((open, i) => (open === 1 && holds(empty, i, whenEmpty) ? 1 : 0));
  const look = { wanted: { unit, free: deviceViewOf(now, gpuModel), gpuModel }, slots: neededSlots(slotOrder) };
  const nearest = nearestNode(now, able.includes(1) ? able : mask, look);
  const node = now.nodes[nearest] as SnapshotNode;
  const lacks = lacksOn(now, nearest, look);
  const split = lacks.some(({ slot }) => slot === 'gpuMemoryBytes') ? 'one device' : 'one node';
  const where = (free: string): string =>
    inAll.length === 0
      ? `that much is free, but not on ${split}: the most is on ${node.name} with ${free} free`
      : `the most room is on ${node.name} with ${free} free`;
  return {
    message: lackText(lacks, { subject: subjectOf(demand), gpuModel, where }),
    blockers: nodeBlockers(node, lacks, gpuModel),
    nearest: { node: node.name, lacks: [...lacks] },
  };
}

function explainSpread(look: Look, lacks: readonly Lack[]): Told {
  const { demand, gaveUp } = look;
  const { gpuModel } = demand;
  const nearest = nearestForOne(look);
  if (lacks.length > 0) {
    const where = (free: string): string => `all nodes have ${free} free`;
    const message = sumText(lacks, { subject: subjectOf(demand), gpuModel, where });
    return { message, blockers: lacks.map((lack) => groupBlocker(look, lack)), nearest };
  }
  const slots = (['gpuCount', 'gpuMemoryBytes', 'cpuMilli', 'memoryBytes'] as const).filter(
    (slot) => neededInAll(demand, slot) > 0,
  );
  const needs = listText(
    slots.map((slot) => amountText(slot, neededInAll(demand, slot), slot === 'gpuCount' ? gpuModel : null)),
  );
  const because = gaveUp
    ? `the search for an assignment ended after ${SEARCH_STEPS} steps`
    : 'it is split so that no assignment of whole kernels to nodes exists';
  const message = `${subjectOf(demand)} ${needs}; that much is free in all, but ${because}`;
  const blockers = slots.map((slot) =>
    groupBlocker(look, { slot, need: neededInAll(demand, slot), free: freeInAll(look, slot) }),
  );
  return { message, blockers, nearest };
}

/** Shares are summed here: they are not of one device. */
function sumText(lacks: readonly Lack[], said: Parameters<typeof lackText>[1]): string {
  if (!lacks.some(({ slot }) => slot === 'gpuMemoryBytes')) return lackText(lacks, said);
  const text = (amount: (lack: Lack) => number): string =>
    listText(
      lacks.map((lack) =>
        lack.slot === 'gpuMemoryBytes' ? amountText(lack.slot, amount(lack)) : lackAmount(lack, amount(lack)),
      ),
    );
  const more = text(({ need, free }) => need - free);
  return `${said.subject} ${text(({ need }) => need)}; ${said.where(text(({ free }) => free))}: ${more} more needed`;
}

function groupBlocker({ now, mask, demand, group }: Look, { slot, need, free }: Lack): Blocker {
  const each = (node: SnapshotNode): number =>
    slot === 'gpuMemoryBytes' ? shareableInAll(node, now, demand.gpuModel) : capacityOf(node, slot, demand.gpuModel);
  const limit = now.nodes.reduce((sum, node, i) => sum + (mask[i] === 1 ? each(node) : 0), 0);
  const used = Math.max(0, limit - free);
  return { kind: 'capacity', scope: 'group', name: group, resource: slot, need, used, limit };
}

const shareableInAll = (node: SnapshotNode, { rules }: NodeTable, gpuModel: string | null): number =>
  node.devices
    .filter(({ healthy, model }) => healthy && (gpuModel === null || model === gpuModel))
    .filter(({ sharing }) => sharing !== 'none' || rules.allowUnenforcedSharing)
    .reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);

/** For kernels that may lie apart: the node that lacks least for the first kind of kernel that no node takes. */
function nearestForOne({ now, empty, slotOrder, demand, mask }: Look): NearestNode | null {
  const free = deviceViewOf(now, demand.gpuModel);
  const someHolds = (unit: Unit): boolean => mask.some((open, i) => open === 1 && holds(now, i, { unit, free }));
  const unit = kernelClasses(demand).find((each) => !someHolds(each));
  if (unit === undefined) return null;
  const whenEmpty = { unit, free: deviceViewOf(empty, demand.gpuModel) };
  const able = mask.map((open, i) => (open === 1 && holds(empty, i, whenEmpty) ? 1 : 0));
  return nearestOf(now, able, { wanted: { unit, free, gpuModel: demand.gpuModel }, slots: neededSlots(slotOrder) });
}
