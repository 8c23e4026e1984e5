import type { SnapshotNode } from '../contract/snapshot.js';
import { amountText, bareAmountText, listText } from './amount-text.js';
import type { Assignment } from './assignment.js';
import type { Demand } from './demand.js';
import type { NodeTable } from './node-table.js';
import type { Picked } from './pick-node.js';
import { extraKinds, type Ranking } from './ranking.js';

const RULES = {
  dispersed: 'the most left',
  concentrated: 'the least left',
  'least-allocated': 'the largest part left',
  'best-fit-devices': 'the least fragmentation',
} as const satisfies Record<Ranking['placement'], string>;

const nameOf = ({ table }: Ranking, i: number): string => (table.nodes[i] as SnapshotNode).name;

/** `node-a: dispersed, the most left (4 GPU, 16 CPU), before node-b; ties by name`. Amounts are those before it is placed. */
export function explainOneNode(ranking: Ranking, { node, next, preference }: Picked, demand: Demand): string {
  const { table } = ranking;
  const { tiers, locality } = preference;
  const name = nameOf(ranking, node);
  const together = demand.kernels.length > 1 ? ` for all ${demand.kernels.length} kernels together` : '';
  if (next < 0) return `${name}: the only node with room${together}`;
  if (tiers !== null && tiers.tier[node] !== tiers.tier[next])
    return `${name}: ${tiers.because(node, next)}; ${nameOf(ranking, next)} has room${together}, too`;
  const extras = (i: number): number => extraKinds(table.kinds[i] as number, demand.total);
  if (extras(node) < extras(next)) {
    return `${name}: the nodes with room${together} that have least beyond what it uses come first, ${nameOf(ranking, next)} after`;
  }
  const left = ranking.slotOrder
    .filter((slot) => (table[slot][node] as number) > 0)
    .map((slot) => amountText(slot, table[slot][node] as number));
  const rule = `${ranking.placement}, ${RULES[ranking.placement]} (${left.join(', ')})`;
  const heldMore = locality !== null && (locality.held[node] as number) > (locality.held[next] as number);
  const ties = heldMore ? 'its image or folders are there already' : 'ties by name';
  return `${name}: ${rule} of the nodes with room${together}, before ${nameOf(ranking, next)}; ${ties}`;
}

/** `5 kernels over node-a (3) and node-b (2), in zone z1: dispersed, kernel by kernel`. */
export function explainSpread(
  ranking: Ranking,
  {
    nodeOfKernel,
    zone,
    searched,
  }: { readonly nodeOfKernel: readonly number[]; readonly zone: string | null; readonly searched: boolean },
): string {
  const counts = new Map<number, number>();
  for (const node of nodeOfKernel) counts.set(node, (counts.get(node) ?? 0) + 1);
  const shown = [...counts].slice(0, 8).map(([node, count]) => `${nameOf(ranking, node)} (${count})`);
  const more = counts.size > shown.length ? [`${counts.size - shown.length} more`] : [];
  const where = zone === null ? 'no node and no zone holds them all' : `no node holds them all, zone ${zone} does`;
  const how = searched
    ? 'found by looking ahead'
    : `${ranking.placement}, ${RULES[ranking.placement]}, kernel by kernel`;
  return `${nodeOfKernel.length} kernels over ${listText([...shown, ...more])}; ${where}: ${how}`;
}

const MODES = {
  mig: 'mig: a hardware instance, booked whole',
  mps: 'mps: its memory is limited, it runs together with others',
  'memory-limit': 'memory-limit: its memory is limited, it takes turns with others',
  none: 'none: nothing enforces the limit of its memory',
} as const;

/** `; 10 GiB of node-a-0 (24 GiB, mps: …)`, for each share that differs. */
export function explainShares(
  table: NodeTable,
  { kernels }: Demand,
  { nodeOfKernel, devicesOfKernel }: Pick<Assignment, 'nodeOfKernel' | 'devicesOfKernel'>,
): string {
  const told = kernels.flatMap(({ slots }, k) => {
    const device = table.nodes[nodeOfKernel[k] as number]?.devices[devicesOfKernel[k]?.[0] as number];
    if (slots.gpuMemoryBytes === 0 || device === undefined) return [];
    const bytes = (amount: number): string => bareAmountText('gpuMemoryBytes', amount);
    return [`${bytes(slots.gpuMemoryBytes)} of ${device.id} (${bytes(device.memoryBytes)}, ${MODES[device.sharing]})`];
  });
  const shown = [...new Set(told)].slice(0, 4);
  const more = told.length > 4 && shown.length === 4 ? [`${told.length} shares in all`] : [];
  return `; ${listText([...shown, ...more])}`;
}
