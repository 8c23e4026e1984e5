import type { FoundDevice } from './device-provider.js';

/** What a container needs to see exactly these devices; the container adapter takes it as it is. */
export interface DeviceRequest {
  readonly driver: 'nvidia' | 'simulated';
  readonly deviceIds: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Undefined for a container without devices. Real and simulated ones never go to one container: a program could not
 * tell which of them compute.
 */
export function toDeviceRequest(devices: readonly FoundDevice[]): DeviceRequest | undefined {
  const [first] = devices;
  if (first === undefined) return undefined;
  if (devices.some((device) => device.simulated !== first.simulated)) {
    throw new RangeError('real and simulated devices in one container');
  }
  const deviceIds = devices.toSorted((a, b) => a.index - b.index).map((device) => device.id);
  const listed = deviceIds.join(',');
  const BERTH_GPU_COUNT = String(deviceIds.length);
  return first.simulated
    ? { driver: 'simulated', deviceIds, environment: { BERTH_SIMULATED_GPUS: listed, BERTH_GPU_COUNT } }
    : { driver: 'nvidia', deviceIds, environment: { NVIDIA_VISIBLE_DEVICES: listed, BERTH_GPU_COUNT } };
}
