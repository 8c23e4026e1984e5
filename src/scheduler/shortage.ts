import type { SlotName } from '../contract/slots.js';
import type { SnapshotNode } from '../contract/snapshot.js';
import type { Blocker, NearestNode } from '../contract/why.js';
import { amountText, bareAmountText, listText } from './amount-text.js';
import type { Demand, Unit } from './demand.js';
import type { DeviceView } from './device-table.js';
import type { NodeTable } from './node-table.js';
import { firstUnpacked } from './pack-devices.js';

/** Slots that a node can lack, in the default order. */
const NEEDED = ['gpuCount', 'gpuMemoryBytes', 'cpuMilli', 'memoryBytes'] as const satisfies readonly SlotName[];
export type NeededSlot = SlotName;

/** One slot that does not suffice: free < need. Of GPU memory both are of one device: a share, and the most that one takes. */
export interface Lack {
  readonly slot: NeededSlot;
  readonly need: number;
  readonly free: number;
}

export interface Wanted {
  readonly unit: Unit;
  readonly free: DeviceView;
  readonly gpuModel: string | null;
}

/** The policy's order first; a slot that it leaves out comes after. */
export const neededSlots = (slotOrder: readonly SlotName[]): readonly NeededSlot[] => [
  ...new Set([...slotOrder, ...NEEDED]),
];

interface Look {
  readonly wanted: Wanted;
  readonly slots: readonly NeededSlot[];
}

/** What node `i` lacks for the unit, in `slots` order. */
export function lacksOn(table: NodeTable, i: number, { wanted, slots }: Look): readonly Lack[] {
  const packed = unpackedOn(table, i, wanted);
  return slots
    .map((slot) =>
      slot === 'gpuMemoryBytes' && packed !== undefined
        ? { slot, ...packed }
        : { slot, need: wanted.unit[slot], free: Math.max(0, freeOn(table, i, { wanted, slot })) },
    )
    .filter(({ need, free }) => free < need);
}

function freeOn(
  table: NodeTable,
  i: number,
  { wanted: { free }, slot }: { readonly wanted: Wanted; readonly slot: NeededSlot },
): number {
  if (slot === 'gpuCount') return free.whole[i] as number;
  return (slot === 'gpuMemoryBytes' ? free.share[i] : table[slot][i]) as number;
}

/** Of several shares: the first that finds no device beside the others. */
function unpackedOn(
  { devices }: NodeTable,
  i: number,
  { unit, free }: Wanted,
): { readonly need: number; readonly free: number } | undefined {
  return unit.isSimple ? undefined : (firstUnpacked(devices, i, { unit, model: free.model }) ?? { need: 0, free: 0 });
}

/** The node among `mask` that lacks least, slot by slot in `slots` order; ties by name. -1 when the mask is empty. */
export function nearestNode(table: NodeTable, mask: Uint8Array, { wanted, slots }: Look): number {
  let nearest = -1;
  let least = new Float64Array(slots.length);
  let missing = new Float64Array(slots.length);
  for (let i = 0; i < mask.length; i += 1) {
    if (mask[i] === 0) continue;
    const packed = unpackedOn(table, i, wanted);
    let order = 0;
    for (let k = 0; k < slots.length; k += 1) {
      const slot = slots[k] as NeededSlot;
      const isPacked = packed !== undefined && slot === 'gpuMemoryBytes';
      const need = isPacked ? packed.need : wanted.unit[slot];
      const lack = need - Math.max(0, isPacked ? packed.free : freeOn(table, i, { wanted, slot }));
      missing[k] = lack > 0 ? lack : 0;
      if (order === 0) order = (missing[k] ?? 0) - (least[k] ?? 0);
    }
    if (nearest >= 0 && order >= 0) continue;
    nearest = i;
    [least, missing] = [missing, least];
  }
  return nearest;
}

/** The nearest node as data; null when there is none, or when it lacks no amount. */
export function nearestOf(table: NodeTable, mask: Uint8Array, look: Look): NearestNode | null {
  const i = nearestNode(table, mask, look);
  const lacks = i < 0 ? [] : lacksOn(table, i, look);
  return lacks.length === 0 ? null : { node: (table.nodes[i] as SnapshotNode).name, lacks: [...lacks] };
}

const onOneDevice = (bytes: number): string => `${bareAmountText('gpuMemoryBytes', bytes)} of one GPU's memory`;

export function lackAmount({ slot }: Pick<Lack, 'slot'>, amount: number, gpuModel: string | null = null): string {
  if (slot !== 'gpuMemoryBytes') return amountText(slot, amount, slot === 'gpuCount' ? gpuModel : null);
  return gpuModel === null ? onOneDevice(amount) : `${onOneDevice(amount)} (${gpuModel})`;
}

/** `needs 4 CPU; the most room is on node-a with 2 CPU free: 2 more needed`, with the subject and the middle part as given. */
export function lackText(
  lacks: readonly Lack[],
  said: { readonly subject: string; readonly gpuModel: string | null; readonly where: (free: string) => string },
): string {
  const needs = listText(lacks.map((lack) => lackAmount(lack, lack.need, said.gpuModel)));
  const free = listText(lacks.map((lack) => lackAmount(lack, lack.free)));
  const only = lacks.length === 1 ? lacks[0] : undefined;
  const more =
    only === undefined
      ? listText(lacks.map(({ slot, need, free: left }) => amountText(slot, need - left)))
      : bareAmountText(only.slot, only.need - only.free);
  return `${said.subject} ${needs}; ${said.where(free)}: ${more} more needed`;
}

/** Who needs it: the session (one kernel), its kernels on one node, or its kernels wherever they lie. */
export function subjectOf(demand: Demand): string {
  if (demand.kernels.length === 1) return 'needs';
  return `its ${demand.kernels.length} kernels ${demand.spread ? 'together' : 'on one node'} need`;
}

/** `limit` is all that the node has (healthy devices that the request may take; of GPU memory the largest), `used` what of it is not free. */
export function nodeBlockers(node: SnapshotNode, lacks: readonly Lack[], gpuModel: string | null): Blocker[] {
  return lacks.map(({ slot, need, free }) => {
    const limit = capacityOf(node, slot, gpuModel);
    return {
      kind: 'capacity',
      scope: 'node',
      name: node.name,
      resource: slot,
      need,
      used: Math.max(0, limit - free),
      limit,
    };
  });
}

export function capacityOf(node: SnapshotNode, slot: NeededSlot, gpuModel: string | null): number {
  if (slot === 'cpuMilli' || slot === 'memoryBytes') return node.capacity[slot];
  const devices = node.devices.filter(({ healthy, model }) => healthy && (gpuModel === null || model === gpuModel));
  if (slot === 'gpuMemoryBytes') return Math.max(0, ...devices.map(({ memoryBytes }) => memoryBytes));
  return devices.filter(({ sharing }) => sharing !== 'mig').length;
}
