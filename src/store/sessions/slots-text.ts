import type { Slots } from '../../contract/index.js';

const GIB = 2 ** 30;
const MIB = 2 ** 20;
const bytesText = (bytes: number): string =>
  bytes % GIB === 0 ? `${bytes / GIB} GiB` : `${Math.ceil((bytes / MIB) * 10) / 10} MiB`;

/** `2 GPU, 4 CPU, 16 GiB`: what stands in Temporal's UI. */
export function slotsText(slots: Slots): string {
  const parts = [`${slots.cpuMilli / 1000} CPU`, bytesText(slots.memoryBytes)];
  if (slots.gpuMemoryBytes > 0) parts.unshift(`${bytesText(slots.gpuMemoryBytes)} of a GPU`);
  if (slots.gpuCount > 0) parts.unshift(`${slots.gpuCount} GPU`);
  return parts.join(', ');
}
