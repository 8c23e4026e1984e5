import type { SnapshotDevice, SnapshotNode } from '../contract/snapshot.js';

/**
 * `now`: READY nodes with what is left. `empty`: READY nodes as if all were released, healthy devices only.
 * `ever`: every node that ever reported a capacity, with all of it, broken devices too (they can be mended).
 */
export type View = 'now' | 'empty' | 'ever';

export interface DeviceRules {
  /** Whether devices whose memory limit nothing enforces take shares. */
  readonly allowUnenforcedSharing: boolean;
}

/** What a device can be used for, as bits; 0 for a broken one. `one`: a hardware instance, which takes one share and no more. */
export const MAY = { whole: 1, share: 2, one: 4 } as const;

/** All devices of all nodes in flat arrays, in the order of the nodes. */
export interface DeviceTable {
  /** Node `i` has the devices `start[i]` up to `start[i + 1]`. */
  readonly start: Int32Array;
  readonly memoryBytes: Float64Array;
  /** Number of its model. */
  readonly model: Int32Array;
  readonly may: Uint8Array;
  readonly modelNumbers: ReadonlyMap<string, number>;
  /**
   * Bytes that are promised to nobody: a device is free when that is all of it. Whoever has it whole, or has a hardware
   * instance, takes all of it. Promises only add up, so it is below 0 where held room is promised that others have yet to leave.
   */
  readonly leftBytes: Float64Array;
}

export const isFree = ({ leftBytes, memoryBytes }: DeviceTable, d: number): boolean => leftBytes[d] === memoryBytes[d];

/** The largest share that the device takes now. */
export function shareRoom(devices: DeviceTable, d: number): number {
  const may = devices.may[d] as number;
  if ((may & MAY.share) === 0) return 0;
  const left = devices.leftBytes[d] as number;
  if ((may & MAY.one) !== 0) return isFree(devices, d) ? left : 0;
  return left > 0 ? left : 0;
}

/** What a promise takes of the device: all of it when whole or a hardware instance, else the share. */
export const bookedBytes = (devices: DeviceTable, d: number, shareBytes: number): number =>
  shareBytes === 0 || ((devices.may[d] as number) & MAY.one) !== 0 ? (devices.memoryBytes[d] as number) : shareBytes;

export function deviceTable(nodes: readonly SnapshotNode[], view: View, rules: DeviceRules): DeviceTable {
  const start = new Int32Array(nodes.length + 1);
  for (let i = 0; i < nodes.length; i += 1)
    start[i + 1] = (start[i] as number) + (nodes[i] as SnapshotNode).devices.length;
  const size = start[nodes.length] as number;
  const modelNumbers = new Map<string, number>();
  const memoryBytes = new Float64Array(size);
  const leftBytes = new Float64Array(size);
  const model = new Int32Array(size);
  const may = new Uint8Array(size);
  let d = 0;
  let lastModel: string | undefined;
  let number = -1;
  for (const { devices } of nodes) {
    for (const device of devices) {
      if (device.model !== lastModel) {
        lastModel = device.model;
        number = numberOf(modelNumbers, lastModel);
      }
      model[d] = number;
      memoryBytes[d] = device.memoryBytes;
      may[d] = mayOf(device, view, rules);
      leftBytes[d] = view === 'now' ? device.memoryBytes - promisedBytes(device) : device.memoryBytes;
      d += 1;
    }
  }
  return { start, memoryBytes, leftBytes, model, may, modelNumbers };
}

function numberOf(modelNumbers: Map<string, number>, model: string): number {
  const known = modelNumbers.get(model);
  if (known !== undefined) return known;
  modelNumbers.set(model, modelNumbers.size);
  return modelNumbers.size - 1;
}

/** The devices of the same nodes with all released, without reading them again. */
export function releasedDevices(
  devices: DeviceTable,
  nodes: readonly SnapshotNode[],
  { view, rules }: { readonly view: Exclude<View, 'now'>; readonly rules: DeviceRules },
): DeviceTable {
  const { may } = devices;
  const broken = view === 'ever' && may.includes(0);
  return {
    ...devices,
    leftBytes: devices.memoryBytes.slice(),
    may: broken ? Uint8Array.from(nodes.flatMap((node) => node.devices.map((each) => mayOf(each, view, rules)))) : may,
  };
}

function mayOf({ healthy, sharing }: SnapshotDevice, view: View, rules: DeviceRules): number {
  if (!healthy && view !== 'ever') return 0;
  if (sharing === 'none') return rules.allowUnenforcedSharing ? MAY.whole | MAY.share : MAY.whole;
  // A hardware instance is a part of a device: it never serves a request for whole ones.
  return sharing === 'mig' ? MAY.share | MAY.one : MAY.whole | MAY.share;
}

function promisedBytes({ heldBy, shares, sharing, memoryBytes }: SnapshotDevice): number {
  let promised = heldBy === null ? 0 : memoryBytes;
  if (shares.length === 0) return promised;
  for (const share of shares) promised += sharing === 'mig' ? memoryBytes : share.memoryBytes;
  return promised;
}

/** What requests of one model (or of any) find on each node. Kept up to date when a node's devices change. */
export interface DeviceView {
  /** The model's number; -1 for any model, -2 for one that no device has. */
  readonly model: number;
  /** Free devices that can be had whole. */
  readonly whole: Float64Array;
  /** The largest share that one device takes. */
  readonly share: Float64Array;
}

export function refreshView(devices: DeviceTable, view: DeviceView, i: number): void {
  const end = devices.start[i + 1] as number;
  let whole = 0;
  let share = 0;
  for (let d = devices.start[i] as number; d < end; d += 1) {
    if (view.model !== -1 && devices.model[d] !== view.model) continue;
    if (((devices.may[d] as number) & MAY.whole) !== 0 && isFree(devices, d)) whole += 1;
    const room = shareRoom(devices, d);
    if (room > share) share = room;
  }
  view.whole[i] = whole;
  view.share[i] = share;
}
