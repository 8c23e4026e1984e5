import type { Snapshot } from '../../../src/contract/snapshot.js';

/** Reads what a pass cannot avoid to read, once: nodes, devices, who runs and who waits, kernel by kernel. */
export function readOnce({ nodes, running, pending }: Snapshot): number {
  let sum = 0;
  for (const each of nodes) {
    sum += each.capacity.cpuMilli - each.used.cpuMilli;
    for (const device of each.devices) sum += device.heldBy === null && device.healthy ? device.memoryBytes : 0;
  }
  for (const { priority, kernels } of running) {
    for (const { slots, deviceIds } of kernels) sum += priority + slots.cpuMilli + deviceIds.length;
  }
  for (const { priority, kernels } of pending) for (const { slots } of kernels) sum += priority + slots.gpuCount;
  return sum;
}
