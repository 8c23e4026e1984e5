import { z } from 'zod';

/** Largest amounts that a request may name: well above any machine, well below 2^53. */
export const LARGEST_CPU_MILLI = 10_000_000;
export const LARGEST_BYTES = 2 ** 50;
export const LARGEST_GPU_COUNT = 10_000;

const cpuMilli = z.int().min(0).max(LARGEST_CPU_MILLI);
const bytes = z.int().min(0).max(LARGEST_BYTES);
const devices = z.int().min(0).max(LARGEST_GPU_COUNT);

/**
 * Amounts of resource as exact integers: thousandths of a core, bytes, whole devices, and bytes of ONE device's memory
 * (a share). A slot that is not named is 0.
 */
export const slotsSchema = z
  .strictObject({
    cpuMilli: cpuMilli.default(0),
    memoryBytes: bytes.default(0),
    gpuCount: devices.default(0),
    gpuMemoryBytes: bytes.default(0),
  })
  .meta({ id: 'Slots' });
export type Slots = z.infer<typeof slotsSchema>;

/** What one kernel asks for: it needs a core's part and memory to run at all. */
export const kernelSlotsSchema = z
  .strictObject({
    cpuMilli: cpuMilli.min(1, 'at least 1 millicore'),
    memoryBytes: bytes.min(6 * 2 ** 20, 'at least 6 MiB (6291456): the container engine gives no less'),
    gpuCount: devices.default(0),
    gpuMemoryBytes: bytes.default(0),
  })
  .meta({ id: 'KernelSlots' });

export const SLOT_NAMES = ['cpuMilli', 'memoryBytes', 'gpuCount', 'gpuMemoryBytes'] as const;
export type SlotName = (typeof SLOT_NAMES)[number];
