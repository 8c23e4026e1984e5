import { guaranteesOf } from '../lifecycle/device-guarantees.js';
import {
  limitBytesOf,
  type OrderedDevice,
  type SharedDevice,
  type ShareMount,
  type SharingPlace,
  shareLimits,
} from './share-limits.js';

/** What a container needs to see exactly these devices; the container adapter takes it as it is. */
export interface DeviceRequest {
  readonly driver: 'nvidia' | 'nvidia-cdi' | 'simulated';
  readonly deviceIds: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface ContainerDevices {
  readonly request: DeviceRequest;
  /** Of the host, beside the folders that the request asked for. */
  readonly mounts: readonly ShareMount[];
}

/**
 * Undefined for a container without devices. Whole devices, or one share of one device, as the ledger placed it: another
 * device is never chosen here. Throws `RangeError` for what cannot be one container: real and simulated devices (a program
 * could not tell which of them compute), a share among others, a limit that cannot be set.
 */
export function toDeviceRequest(devices: readonly OrderedDevice[], place: SharingPlace): ContainerDevices | undefined {
  const [first] = devices;
  if (first === undefined) return undefined;
  if (devices.some((device) => device.simulated !== first.simulated)) {
    throw new RangeError('real and simulated devices cannot be in one container');
  }
  const shared = devices.find(isShared);
  if (shared !== undefined && devices.length > 1) throw new RangeError('a share of a GPU is alone in its container');
  const ordered = devices.toSorted((a, b) => a.index - b.index);
  const deviceIds = ordered.map((device) => device.id);
  const told = environmentOf(ordered);
  const listed = deviceIds.join(',');
  if (first.simulated) {
    const environment = { BERTH_SIMULATED_GPUS: listed, ...told };
    return { request: { driver: 'simulated', deviceIds, environment }, mounts: [] };
  }
  const limits = shared && shareLimits(shared, place);
  const driver = limits?.driver ?? 'nvidia';
  // by CDI the engine itself hands out the device; the runtime that reads this variable must not do so as well
  const visible = driver === 'nvidia' ? { NVIDIA_VISIBLE_DEVICES: listed } : {};
  return {
    request: { driver, deviceIds, environment: { ...visible, ...told, ...limits?.environment } },
    mounts: limits?.mounts ?? [],
  };
}

const isShared = (device: OrderedDevice): device is SharedDevice => device.share !== null;

/** Set for devices only: a user's own value must not claim devices that are not there. */
export const DEVICE_NAMES: readonly string[] = [
  'BERTH_SIMULATED_GPUS',
  'BERTH_GPU_COUNT',
  'BERTH_GPU_MEMORY_BYTES',
  'BERTH_GPU_SHARING',
  'BERTH_GPU_GUARANTEES',
];

/** What a program may want to know of its devices. Bytes are listed as the devices are; a share is one device. */
function environmentOf(devices: readonly OrderedDevice[]): Readonly<Record<string, string>> {
  const [first] = devices;
  const sharing = first?.share != null || first?.sharing === 'mig' ? first.sharing : null;
  const { memory, compute, faults } = guaranteesOf(sharing);
  const guarantees = `memory ${memory}, compute ${compute}, faults ${faults}`;
  return {
    BERTH_GPU_COUNT: String(devices.length),
    BERTH_GPU_MEMORY_BYTES: devices
      .map((device) => (isShared(device) ? limitBytesOf(device) : device.memoryBytes))
      .join(','),
    BERTH_GPU_SHARING: sharing ?? 'whole',
    BERTH_GPU_GUARANTEES: first?.simulated === true ? `simulated: ${guarantees}` : guarantees,
  };
}
