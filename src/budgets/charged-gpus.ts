/** What of a kernel's room is charged: whole devices, or a part of one. */
export interface ChargedSlots {
  readonly gpuCount: number;
  readonly gpuMemoryBytes: number;
}

/** Thousandths of a GPU-hour that an hour of each model counts, by model; 1000 where none is named. */
export type Factors = Readonly<Record<string, number>>;

const PLAIN = 1000;

export const factorOf = (factors: Factors, model: string | null | undefined): number =>
  model === null || model === undefined ? PLAIN : (factors[model] ?? PLAIN);

/** A share counts the promised part of its device, rounded up to thousandths; times the factor, rounded up again. */
export function milliOfShare(promisedBytes: number, deviceBytes: number, factor: number): number {
  const part = Math.min(PLAIN, Math.ceil((1000 * promisedBytes) / deviceBytes));
  return Math.ceil((part * factor) / 1000);
}

/** A group's devices, as what waits is charged by: the model that it gets is not known yet, unless it is pinned. */
export interface DeviceKinds {
  readonly factors: Factors;
  /** The largest device in bytes, by model. */
  readonly largestBytes: ReadonlyMap<string, number>;
}

export function deviceKinds(
  devices: Iterable<{ readonly model: string; readonly memoryBytes: number }>,
  factors: Factors,
): DeviceKinds {
  const largestBytes = new Map<string, number>();
  for (const { model, memoryBytes } of devices)
    largestBytes.set(model, Math.max(memoryBytes, largestBytes.get(model) ?? 0));
  return { factors, largestBytes };
}

/**
 * GPUs × factor in thousandths of what waits: of its pinned model, else the largest factor of the models that the group
 * has; a share against the largest such device.
 */
export function milliGpusAsked(
  { factors, largestBytes }: DeviceKinds,
  {
    kernels,
    gpuModel,
  }: { readonly kernels: readonly { readonly slots: ChargedSlots }[]; readonly gpuModel: string | null },
): number {
  let milli = 0;
  const isPinned = gpuModel !== null;
  const models = isPinned ? [gpuModel] : [...largestBytes.keys()];
  const factor = models.reduce(
    (most, model) => Math.max(most, factorOf(factors, model)),
    models.length === 0 ? PLAIN : 0,
  );
  const bytes = models.reduce((most, model) => Math.max(most, largestBytes.get(model) ?? 0), 0);
  for (const { slots } of kernels) {
    milli += slots.gpuCount * factor;
    if (slots.gpuMemoryBytes > 0) milli += bytes === 0 ? factor : milliOfShare(slots.gpuMemoryBytes, bytes, factor);
  }
  return milli;
}

interface HeldDevice {
  readonly model: string;
  readonly memoryBytes: number;
}

/** GPUs × factor in thousandths of what is held. A device that is gone counts as one of factor 1. */
export function milliGpusHeld(
  factors: Factors,
  rooms: readonly { readonly slots: ChargedSlots; readonly devices: readonly (HeldDevice | undefined)[] }[],
): number {
  let milli = 0;
  for (const { slots, devices } of rooms) {
    for (const device of devices) {
      const factor = factorOf(factors, device?.model);
      const isShare = slots.gpuCount === 0 && slots.gpuMemoryBytes > 0;
      milli +=
        isShare && device !== undefined ? milliOfShare(slots.gpuMemoryBytes, device.memoryBytes, factor) : factor;
    }
  }
  return milli;
}
