import type { PlacedKernel } from '../contract/plan.js';
import type { SnapshotDevice, SnapshotKernel } from '../contract/snapshot.js';
import type { NodeLine } from './node-line.js';
import { deviceForShare, type WindowRow } from './span-ask.js';

/** Devices for each kernel out of a row that holds them all: shares first, the largest first, then whole ones by index. */
export function seatKernels(
  line: NodeLine,
  row: WindowRow,
  { kernels, gpuModel }: { readonly kernels: readonly SnapshotKernel[]; readonly gpuModel: string | null },
): PlacedKernel[] {
  const free = row.free.slice(0, line.free.length);
  const seats = new Map<SnapshotKernel, PlacedKernel>();
  const byShare = kernels.toSorted((a, b) => b.slots.gpuMemoryBytes - a.slots.gpuMemoryBytes);
  for (const kernel of byShare) {
    const { node } = line;
    const devices =
      kernel.slots.gpuMemoryBytes > 0
        ? shareOf(line, free, { kernel, gpuModel })
        : wholeOf(line, free, { kernel, gpuModel });
    const [only] = devices;
    const isInstance = only !== undefined && kernel.slots.gpuMemoryBytes > 0 && only.sharing === 'mig';
    const slots = isInstance ? { ...kernel.slots, gpuMemoryBytes: only.memoryBytes } : kernel.slots;
    seats.set(kernel, { kernelId: kernel.id, node: node.name, deviceIds: devices.map(({ id }) => id), slots });
  }
  return kernels.map((kernel) => seats.get(kernel) as PlacedKernel);
}

interface Seat {
  readonly kernel: SnapshotKernel;
  readonly gpuModel: string | null;
}

function shareOf(line: NodeLine, free: Float64Array, { kernel, gpuModel }: Seat): readonly SnapshotDevice[] {
  const bytes = kernel.slots.gpuMemoryBytes;
  const d = deviceForShare(line, free, { bytes, gpuModel });
  if (d < 0) return [];
  free[d] = line.single[d] === 1 ? 0 : (free[d] as number) - bytes;
  return [line.node.devices[d] as SnapshotDevice];
}

function wholeOf(line: NodeLine, free: Float64Array, { kernel, gpuModel }: Seat): readonly SnapshotDevice[] {
  const devices: SnapshotDevice[] = [];
  for (const [d, device] of line.node.devices.entries()) {
    if (devices.length === kernel.slots.gpuCount) break;
    if (free[d] !== line.whole[d] || (gpuModel !== null && device.model !== gpuModel)) continue;
    free[d] = 0;
    devices.push(device);
  }
  return devices;
}
