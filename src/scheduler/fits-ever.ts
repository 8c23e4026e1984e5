import type { SlotName } from '../contract/slots.js';
import type { SnapshotNode } from '../contract/snapshot.js';
import type { Blocker } from '../contract/why.js';
import { listText } from './amount-text.js';
import { type Demand, demandOf, kernelClasses, type Request, type Unit } from './demand.js';
import type { Refusal } from './explain-blocked.js';
import { deviceViewOf, holds, type NodeTable, nodeTable, openNodesOf } from './node-table.js';
import { nodeVerdict } from './node-verdict.js';
import { canPlace } from './place.js';
import { rankingOf } from './ranking.js';
import { lacksOn, lackText, nearestNode, neededSlots, nodeBlockers, subjectOf } from './shortage.js';

const DEFAULT_SLOT_ORDER: readonly SlotName[] = ['gpuCount', 'gpuMemoryBytes', 'cpuMilli', 'memoryBytes'];

/**
 * Why the nodes of the group can never hold the request, in order of precedence; null when one day they can. Looks at
 * READY, CORDONED and LOST nodes with all that they have, broken devices too. A group in which no node has ever reported
 * a capacity refuses nothing (but shares of devices): what is submitted there waits for a node.
 */
export function neverFits(request: Request, nodes: readonly SnapshotNode[]): readonly Refusal[] | null {
  const refusals = refusalsIn(nodeTable(nodes, 'ever'), demandOf(request), DEFAULT_SLOT_ORDER);
  return refusals.length === 0 ? null : refusals;
}

/** The same for a table of view `ever` that is there already. */
export function refusalsIn(ever: NodeTable, demand: Demand, slotOrder: readonly SlotName[]): readonly Refusal[] {
  const refusals: Refusal[] = [];
  const refuse = (reason: Refusal['reason'], message: string, blockers: Blocker[]): void => {
    refusals.push({ reason, message, blockers, violations: [], nodes: nodeVerdict(ever, demand) });
  };
  if (demand.gpuMemoryBytes > 0) {
    refuse(
      'misconfigured',
      'asks for a share of a device (gpuMemoryBytes); this group offers whole devices (gpuCount)',
      [],
    );
  }
  if (!ever.open.includes(1)) return refusals;
  const unmatched = mismatch(ever, demand);
  if (unmatched !== null) refuse('no_matching_device', unmatched.message, []);
  // What lacks is told on the nodes that match; where none does, on all of them.
  const sized = unmatched === null ? demand : { ...demand, ...unmatched.without };
  const tooLarge = excess(ever, sized, slotOrder);
  if (tooLarge !== null) refuse('too_large_for_any_node', tooLarge.message, tooLarge.blockers);
  return refusals;
}

interface Mismatch {
  readonly message: string;
  /** The part of the request to leave out so that something matches. */
  readonly without: Partial<Pick<Demand, 'architecture' | 'gpuModel'>>;
}

function mismatch(ever: NodeTable, { architecture, gpuModel }: Demand): Mismatch | null {
  const known = ever.nodes.filter((_node, i) => ever.open[i] === 1);
  const hasModel = (node: SnapshotNode): boolean => node.devices.some((device) => device.model === gpuModel);
  const missesArchitecture = architecture !== null && known.every((node) => node.architecture !== architecture);
  const missesModel = gpuModel !== null && !known.some(hasModel);
  const parts: string[] = [];
  if (missesArchitecture)
    parts.push(`needs ${architecture}; the nodes are ${distinct(known.map((node) => node.architecture))}`);
  if (missesModel) {
    const models = known.flatMap((node) => node.devices.map((device) => device.model));
    parts.push(
      `needs a ${gpuModel}; ${models.length === 0 ? 'no node has a device' : `the nodes have ${distinct(models)}`}`,
    );
  }
  if (parts.length > 0) {
    const without = { ...(missesArchitecture && { architecture: null }), ...(missesModel && { gpuModel: null }) };
    return { message: parts.join('; '), without };
  }
  const neither = architecture !== null && gpuModel !== null;
  if (!neither || known.some((node) => node.architecture === architecture && hasModel(node))) return null;
  return { message: `needs a ${gpuModel} on ${architecture}; no node has both`, without: { gpuModel: null } };
}

const distinct = (names: readonly string[]): string => listText([...new Set(names)].toSorted());

/** What is more than any node (spread: than the nodes together) can ever hold, with the nearest node. */
function excess(
  ever: NodeTable,
  demand: Demand,
  slotOrder: readonly SlotName[],
): { message: string; blockers: Blocker[] } | null {
  const ranking = rankingOf(ever, { placement: 'concentrated', slotOrder: [...slotOrder] });
  if (canPlace(ranking, demand)) return null;
  const mask = openNodesOf(ever, demand.architecture);
  const free = deviceViewOf(ever, demand.gpuModel);
  const heldNowhere = (unit: Unit): boolean => !mask.some((open, i) => open === 1 && holds(ever, i, { unit, free }));
  const unit = demand.spread ? kernelClasses(demand).find(heldNowhere) : demand.total;
  if (unit === undefined) {
    return { message: `${subjectOf(demand)} more than all nodes of the group hold, even when empty`, blockers: [] };
  }
  const wanted = { unit, free, gpuModel: demand.gpuModel };
  const slots = neededSlots(slotOrder);
  const nearest = nearestNode(ever, mask, { wanted, slots });
  const node = ever.nodes[nearest] as SnapshotNode;
  const lacks = lacksOn(ever, nearest, { wanted, slots });
  const subject = demand.spread ? 'one of its kernels needs' : subjectOf(demand);
  const where = (has: string): string => `no node is that large, the nearest is ${node.name} with ${has} in all`;
  const message = lackText(lacks, { subject, gpuModel: demand.gpuModel, where });
  return { message, blockers: nodeBlockers(node, lacks, demand.gpuModel) };
}
