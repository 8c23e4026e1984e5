import type { Sharing } from '../contract/index.js';

/** A device as a launch order has it: whole, or a share of its memory that `sharing` keeps to. */
export interface OrderedDevice {
  readonly id: string;
  readonly index: number;
  readonly memoryBytes: number;
  readonly simulated: boolean;
  readonly sharing: Sharing;
  readonly share: { readonly memoryBytes: number; readonly limitBytes: number } | null;
}

export interface SharedDevice extends OrderedDevice {
  readonly share: { readonly memoryBytes: number; readonly limitBytes: number };
}

/** What is added to the request for the device itself. */
export interface ShareLimits {
  readonly driver: 'nvidia' | 'nvidia-cdi';
  readonly environment: Readonly<Record<string, string>>;
  readonly mounts: readonly ShareMount[];
}

export interface ShareMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

export interface SharingPlace {
  /** The node's MPS directory: `pipe` and `log` of its control daemon are in it. */
  readonly mpsDirectory: string;
}

const BYTES_PER_MIB = 1024 * 1024;
const MPS_DIRECTORY_INSIDE = '/run/nvidia-mps';
const NOTHING: ShareLimits = { driver: 'nvidia', environment: {}, mounts: [] };

/** What the share may use: never above its limit, nor above what the device has. A MIG instance is what it is. */
export function limitBytesOf({ sharing, share, memoryBytes }: SharedDevice): number {
  return sharing === 'mig' ? memoryBytes : Math.min(share.limitBytes, memoryBytes);
}

/** Throws `RangeError` for a limit that the mode's unit cannot express: nothing is rounded up, and 0 would mean no limit. */
export function shareLimits(device: SharedDevice, place: SharingPlace): ShareLimits {
  return BY_SHARING[device.sharing](device, place);
}

const BY_SHARING: Readonly<Record<Sharing, (device: SharedDevice, place: SharingPlace) => ShareLimits>> = {
  mig: () => NOTHING,
  none: () => NOTHING,
  mps: mpsLimits,
  'memory-limit': driverLimits,
};

/**
 * A client finds the control daemon in the pipe directory and needs its shared memory, which is the host's: its own would
 * not do. The limit goes by the place of the device in the container (always 0, a share is of one device), since MPS does
 * not apply it by UUID. Percent of the threads: the promised part of the memory, rounded down, and at least 1, since 0
 * would mean all.
 */
function mpsLimits(device: SharedDevice, { mpsDirectory }: SharingPlace): ShareLimits {
  const percent = Math.max(1, Math.floor((device.share.memoryBytes * 100) / device.memoryBytes));
  return {
    driver: 'nvidia',
    environment: {
      CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: `0=${wholeMib(limitBytesOf(device))}M`,
      CUDA_MPS_ACTIVE_THREAD_PERCENTAGE: String(Math.min(percent, 100)),
      CUDA_MPS_PIPE_DIRECTORY: `${MPS_DIRECTORY_INSIDE}/pipe`,
      CUDA_MPS_LOG_DIRECTORY: `${MPS_DIRECTORY_INSIDE}/log`,
    },
    mounts: [
      { source: mpsDirectory, target: MPS_DIRECTORY_INSIDE, readOnly: false },
      { source: '/dev/shm', target: '/dev/shm', readOnly: false },
    ],
  };
}

/**
 * The driver keeps the container's cgroup to the limit. NVIDIA's container toolkit tells it, in a CDI hook that reads
 * these two (MiB, whole numbers); the hook does not run for devices that are asked for in another way than by CDI.
 */
function driverLimits(device: SharedDevice): ShareLimits {
  const limitMib = wholeMib(limitBytesOf(device));
  const requestMib = Math.min(Math.floor(device.share.memoryBytes / BYTES_PER_MIB), limitMib);
  return {
    driver: 'nvidia-cdi',
    environment: { NVIDIA_GPU_MEMORY_REQUEST: String(requestMib), NVIDIA_GPU_MEMORY_LIMIT: String(limitMib) },
    mounts: [],
  };
}

function wholeMib(bytes: number): number {
  const mib = Math.floor(bytes / BYTES_PER_MIB);
  if (mib < 1) throw new RangeError('the limit of a share of a GPU is below 1 MiB, the unit in which it is set');
  return mib;
}
