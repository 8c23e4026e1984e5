import type { SlotName } from '../contract/slots.js';
import type { SnapshotNode } from '../contract/snapshot.js';
import type { Blocker } from '../contract/why.js';
import { amountText, bareAmountText, listText } from './amount-text.js';
import type { Demand, Unit } from './demand.js';
import type { DeviceView } from './device-table.js';
import type { NodeTable } from './node-table.js';

/** Slots that a node can lack for whole devices, in the default order. */
const NEEDED = ['gpuCount', 'cpuMilli', 'memoryBytes'] as const;
export type NeededSlot = (typeof NEEDED)[number];

/** One slot that does not suffice: free < need. */
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
export const neededSlots = (slotOrder: readonly SlotName[]): readonly NeededSlot[] => {
  const named = slotOrder.filter((slot): slot is NeededSlot => slot !== 'gpuMemoryBytes');
  return [...new Set([...named, ...NEEDED])];
};

const freeOn = (table: NodeTable, i: number, wanted: Wanted) => (slot: NeededSlot) =>
  Math.max(0, (slot === 'gpuCount' ? wanted.free.whole[i] : table[slot][i]) as number);

/** What node `i` lacks for the unit, in `slots` order. */
export function lacksOn(
  table: NodeTable,
  i: number,
  { wanted, slots }: { readonly wanted: Wanted; readonly slots: readonly NeededSlot[] },
): readonly Lack[] {
  const free = freeOn(table, i, wanted);
  return slots
    .map((slot) => ({ slot, need: wanted.unit[slot], free: free(slot) }))
    .filter(({ need, free: left }) => left < need);
}

/** The node among `mask` that lacks least, slot by slot in `slots` order; ties by name. -1 when the mask is empty. */
export function nearestNode(
  table: NodeTable,
  mask: Uint8Array,
  { wanted, slots }: { readonly wanted: Wanted; readonly slots: readonly NeededSlot[] },
): number {
  const missing = (i: number, slot: NeededSlot): number =>
    Math.max(0, wanted.unit[slot] - freeOn(table, i, wanted)(slot));
  const isNearer = (i: number, than: number): boolean => {
    for (const slot of slots) {
      const difference = missing(i, slot) - missing(than, slot);
      if (difference !== 0) return difference < 0;
    }
    return false;
  };
  let nearest = -1;
  for (let i = 0; i < mask.length; i += 1) {
    if (mask[i] === 1 && (nearest < 0 || isNearer(i, nearest))) nearest = i;
  }
  return nearest;
}

/** `needs 4 CPU; the most room is on node-a with 2 CPU free: 2 more needed`, with the subject and the middle part as given. */
export function lackText(
  lacks: readonly Lack[],
  said: { readonly subject: string; readonly gpuModel: string | null; readonly where: (free: string) => string },
): string {
  const model = (slot: NeededSlot): string | null => (slot === 'gpuCount' ? said.gpuModel : null);
  const needs = listText(lacks.map(({ slot, need }) => amountText(slot, need, model(slot))));
  const free = listText(lacks.map(({ slot, free: left }) => amountText(slot, left)));
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

/** `limit` is all that the node has (healthy devices that the request may take), `used` what of it is not free. */
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
  if (slot !== 'gpuCount') return node.capacity[slot];
  return node.devices.filter((device) => device.healthy && (gpuModel === null || device.model === gpuModel)).length;
}
