import type { Sharing } from '../contract/index.js';

/** A GPU (or a MIG instance of one) that the node may hand out. */
export interface FoundDevice {
  /** Stable over restarts: the UUID of a real device, `sim-<n>` of a simulated one. */
  readonly id: string;
  /** Place among the node's devices, from 0. */
  readonly index: number;
  readonly model: string;
  readonly memoryBytes: number;
  readonly simulated: boolean;
  readonly healthy: boolean;
  /** Why it is not healthy, in a few words. */
  readonly fault?: string;
  /** What would keep a share of it to its memory; `mig` of each instance, and of nothing else. */
  readonly sharing: Sharing;
  /** Why it is not shared as configured, in a few words. */
  readonly sharingFault?: string;
  readonly uuid?: string;
  /** Id of the GPU that this MIG instance is a part of. */
  readonly migParent?: string;
}

export interface DeviceFault {
  readonly id: string;
  readonly reason: string;
}

/** What a device does now, whoever has it. */
export interface DeviceLoad {
  readonly id: string;
  /** Of the last second or less, 0 to 100; null: not known. */
  readonly busyPercent: number | null;
  readonly memoryBytes: number | null;
}

export interface DeviceProvider {
  /** By index. A node without devices gives an empty list; throws `DeviceFailure` when they cannot be read. */
  readonly discover: () => Promise<readonly FoundDevice[]>;
  /** Which of the devices that were found before must not be given out now. Throws `DeviceFailure` as above. */
  readonly faults: (known: readonly FoundDevice[]) => Promise<readonly DeviceFault[]>;
  /** Devices whose load is not told (MIG instances) are left out. Throws `DeviceFailure` as above. */
  readonly loads: () => Promise<readonly DeviceLoad[]>;
}

/** The devices cannot be read (a driver that does not answer): not the same as having none. */
export class DeviceFailure extends Error {
  override readonly name = 'DeviceFailure';
}
