import type { SnapshotDevice, SnapshotNode } from '../contract/snapshot.js';
import type { Blocker } from '../contract/why.js';
import { bareAmountText, listText } from './amount-text.js';
import { type Demand, demandOf, kernelClasses, type Request, type Unit } from './demand.js';
import type { DeviceRules } from './device-table.js';
import type { Refusal } from './explain-blocked.js';
import { deviceViewOf, holds, type NodeTable, nodeTable } from './node-table.js';
import { nodeVerdict } from './node-verdict.js';
import { nodesOpenTo } from './nodes-open-to.js';
import { canPlace } from './place.js';
import { type Ranking, rankingOf } from './ranking.js';
import { type Lack, lacksOn, lackText, nearestNode, neededSlots, nodeBlockers, subjectOf } from './shortage.js';

/** The default order of slots; which node of several would be chosen does not matter here. */
const ORDER: Pick<Ranking, 'placement' | 'slotOrder'> = {
  placement: 'concentrated',
  slotOrder: ['gpuCount', 'gpuMemoryBytes', 'cpuMilli', 'memoryBytes'],
};

/**
 * Why the nodes of the group can never hold the request, in order of precedence; null when one day they can. Looks at
 * nodes of any state with all that they have, broken devices too; of required nodes only at those. Where none of them
 * has ever reported a capacity nothing is refused: what is submitted there waits for a node.
 */
export function neverFits(
  request: Request,
  nodes: readonly SnapshotNode[],
  rules?: DeviceRules,
): readonly Refusal[] | null {
  const ever = rankingOf(nodeTable(nodes, 'ever', rules), ORDER);
  const refusals = refusalsIn(ever, demandOf(request));
  return refusals.length === 0 ? null : refusals;
}

/** The same for a ranked table of view `ever` that is there already. */
export function refusalsIn(ranking: Ranking, demand: Demand): readonly Refusal[] {
  const ever = ranking.table;
  const refusals: Refusal[] = [];
  const refuse = (reason: Refusal['reason'], told: Pick<Refusal, 'message' | 'blockers' | 'nearest'>): void => {
    refusals.push({ reason, nearest: null, ...told, violations: [], nodes: nodeVerdict(ever, demand) });
  };
  const wherever = nodesOpenTo(ever, { ...demand, architecture: null });
  const known = ever.nodes.filter((_node, i) => wherever[i] === 1);
  const misuse = misuseOf(ever, demand, known);
  if (misuse !== null) refuse('misconfigured', { message: misuse, blockers: [] });
  if (known.length === 0 || demand.contradicts) return refusals;
  const unmatched = mismatch(ever, demand, known);
  if (unmatched !== null) refuse('no_matching_device', { message: unmatched.message, blockers: [] });
  // What lacks is told on the nodes that match; where none does, on all of them.
  const matching = unmatched === null ? demand : { ...demand, ...unmatched.without };
  const tooLarge = excess(ranking, misuse === null ? matching : withoutShares(matching));
  if (tooLarge !== null) refuse('too_large_for_any_node', tooLarge);
  return refusals;
}

function misuseOf({ rules }: NodeTable, demand: Demand, known: readonly SnapshotNode[]): string | null {
  if (demand.contradicts)
    return 'a kernel asks for whole devices (gpuCount) and for a share of one (gpuMemoryBytes) at once';
  if (demand.gpuMemoryBytes === 0 || known.length === 0) return null;
  if (known.some(({ devices }) => devices.some((device) => takesShares(device, rules)))) return null;
  const because = 'none of its devices limits what a share uses, and the group does not allow unenforced sharing';
  return `asks for a share of a device (gpuMemoryBytes); this group offers whole devices (gpuCount): ${because}`;
}

const takesShares = ({ sharing }: SnapshotDevice, { allowUnenforcedSharing }: DeviceRules): boolean =>
  sharing !== 'none' || allowUnenforcedSharing;

function withoutShares(demand: Demand): Demand {
  const kernels = demand.kernels.map(({ slots }) => ({ slots: { ...slots, gpuMemoryBytes: 0 } }));
  const { total } = demandOf({ architecture: null, gpuModel: null, clusterMode: 'single-node', kernels });
  return { ...demand, kernels, total, gpuMemoryBytes: 0 };
}

interface Mismatch {
  readonly message: string;
  /** The part of the request to leave out so that something matches. */
  readonly without: Partial<Pick<Demand, 'architecture' | 'gpuModel'>>;
}

function mismatch({ rules }: NodeTable, demand: Demand, known: readonly SnapshotNode[]): Mismatch | null {
  const { architecture, gpuModel } = demand;
  const shares = demand.gpuMemoryBytes > 0 && demand.total.gpuCount === 0;
  const isUsable = (device: SnapshotDevice): boolean =>
    device.model === gpuModel && (!shares || takesShares(device, rules));
  const hasModel = (node: SnapshotNode): boolean => node.devices.some(isUsable);
  const missesArchitecture = architecture !== null && known.every((node) => node.architecture !== architecture);
  const missesModel = gpuModel !== null && !known.some(hasModel);
  const parts: string[] = [];
  if (missesArchitecture)
    parts.push(`needs ${architecture}; the nodes are ${distinct(known.map((node) => node.architecture))}`);
  if (missesModel) parts.push(modelText(gpuModel, known));
  if (parts.length > 0) {
    const without = { ...(missesArchitecture && { architecture: null }), ...(missesModel && { gpuModel: null }) };
    return { message: parts.join('; '), without };
  }
  const neither = architecture !== null && gpuModel !== null;
  if (!neither || known.some((node) => node.architecture === architecture && hasModel(node))) return null;
  return { message: `needs a ${gpuModel} on ${architecture}; no node has both`, without: { gpuModel: null } };
}

function modelText(gpuModel: string, known: readonly SnapshotNode[]): string {
  const models = known.flatMap((node) => node.devices.map((device) => device.model));
  if (models.includes(gpuModel)) return `needs a share of a ${gpuModel}; none of them takes shares here`;
  return `needs a ${gpuModel}; ${models.length === 0 ? 'no node has a device' : `the nodes have ${distinct(models)}`}`;
}

const distinct = (names: readonly string[]): string => listText([...new Set(names)].toSorted());

/** What is more than any node (spread: than the nodes together) can ever hold, with the nearest node. */
function excess(
  ranking: Ranking,
  demand: Demand,
): { message: string; blockers: Blocker[]; nearest: NonNullable<Refusal['nearest']> | null } | null {
  if (canPlace(ranking, demand)) return null;
  const { table: ever, slotOrder } = ranking;
  const mask = nodesOpenTo(ever, demand);
  const { gpuModel } = demand;
  const free = deviceViewOf(ever, gpuModel);
  const heldNowhere = (unit: Unit): boolean => !mask.some((open, i) => open === 1 && holds(ever, i, { unit, free }));
  const unit = demand.spread ? kernelClasses(demand).find(heldNowhere) : demand.total;
  if (unit === undefined) {
    const message = `${subjectOf(demand)} more than all nodes of the group hold, even when empty`;
    return { message, blockers: [], nearest: null };
  }
  const look = { wanted: { unit, free, gpuModel }, slots: neededSlots(slotOrder) };
  const nearest = nearestNode(ever, mask, look);
  const node = ever.nodes[nearest] as SnapshotNode;
  const lacks = lacksOn(ever, nearest, look);
  const subject = demand.spread ? 'one of its kernels needs' : subjectOf(demand);
  const where = (has: string): string => `no node is that large, the nearest is ${node.name} with ${has} in all`;
  return {
    message: `${lackText(lacks, { subject, gpuModel, where })}${largestDevice(ever, { mask, lacks, gpuModel })}`,
    blockers: nodeBlockers(node, lacks, gpuModel),
    nearest: { node: node.name, lacks: [...lacks] },
  };
}

/** `; the largest device is a-0 of node a (h200, 24 GiB)`: of those that take shares, where a share is too large. */
function largestDevice(
  { nodes, rules }: NodeTable,
  {
    mask,
    lacks,
    gpuModel,
  }: { readonly mask: Uint8Array; readonly lacks: readonly Lack[]; readonly gpuModel: string | null },
): string {
  if (!lacks.some(({ slot }) => slot === 'gpuMemoryBytes')) return '';
  const devices = nodes.flatMap((node, i) => (mask[i] === 1 ? node.devices.map((device) => ({ node, device })) : []));
  const [largest] = devices
    .filter(({ device }) => takesShares(device, rules) && (gpuModel === null || device.model === gpuModel))
    .toSorted((a, b) => b.device.memoryBytes - a.device.memoryBytes);
  if (largest === undefined) return '';
  const { node, device } = largest;
  const size = bareAmountText('gpuMemoryBytes', device.memoryBytes);
  return `; the largest device that takes shares is ${device.id} of node ${node.name} (${device.model}, ${size})`;
}
