import type { LaunchOrder } from '../contract/index.js';
import { type ContainerDevices, DEVICE_NAMES, toDeviceRequest } from '../devices/to-device-request.js';
import type { ContainerSpec, MountSpec } from '../docker/container-spec.js';
import { ANCHOR_PROCESS } from '../engines/segment-keeper.js';
import { containerName, kernelLabels, networkName, SOLO_NETWORK } from './kernel-container.js';
import type { AssignedPort } from './ports.js';
import { StartRefused } from './start-failure.js';

const RENDEZVOUS_PORT = 29_500;
const SHM_BYTES_MIN = 64 * 1024 * 1024;

export interface NodeSide {
  readonly node: string;
  /** Where ports are published: 0.0.0.0, or 127.0.0.1 where the node is for this machine alone. */
  readonly publishAddress: string;
  /** Where shares by MPS find the node's control daemon. */
  readonly mpsDirectory: string;
  readonly mounts: readonly MountSpec[];
  readonly ports: readonly AssignedPort[];
}

/** The container of a launch order: the same order and the same ports give the same container. */
export function launchToContainer(order: LaunchOrder, side: NodeSide): ContainerSpec {
  const devices = deviceRequest(order, side);
  const mounts = [...side.mounts, ...(devices?.mounts ?? [])];
  const hasShm = mounts.some(({ target }) => target === '/dev/shm');
  return {
    name: containerName(order),
    labels: kernelLabels(side.node, order, side.ports),
    image: order.image,
    ...processOf(order),
    ...(order.workdir !== null && { workdir: order.workdir }),
    environment: environmentOf(order),
    cpuMilli: order.cpuMilli,
    memoryBytes: order.memoryBytes,
    ...(!hasShm && { shmBytes: Math.max(SHM_BYTES_MIN, Math.floor(order.memoryBytes / 2)) }),
    ...(order.ipc === 'shareable' && { ipc: 'shareable' as const }),
    mounts,
    ports: side.ports.map((port) => ({ ...port, hostAddress: side.publishAddress })),
    hostname: order.hostname,
    ...(devices !== undefined && { devices: devices.request }),
    network: order.size > 1 ? networkOf(order) : { name: SOLO_NETWORK, aliases: [], extraHosts: {} },
  };
}

/** A member's anchor keeps the segments of its engines, whatever its image would run. */
function processOf({ ipc, entrypoint, command }: LaunchOrder): Pick<ContainerSpec, 'entrypoint' | 'command'> {
  if (ipc === 'shareable') return ANCHOR_PROCESS;
  return { ...(entrypoint !== null && { entrypoint }), command };
}

/** torchrun's own names may be overridden by the user, those of Berth may not. */
function environmentOf(order: LaunchOrder): Readonly<Record<string, string>> {
  const hosts = hostsByRank(order);
  const rank = String(order.rank);
  const size = String(order.size);
  const master = hosts[0] ?? order.hostname;
  const port = String(RENDEZVOUS_PORT);
  const own = Object.entries(order.environment).filter(([name]) => !DEVICE_NAMES.includes(name));
  return {
    RANK: rank,
    WORLD_SIZE: size,
    LOCAL_RANK: '0',
    NODE_RANK: rank,
    MASTER_ADDR: master,
    MASTER_PORT: port,
    ...Object.fromEntries(own),
    BERTH_SESSION_ID: order.sessionId,
    BERTH_SESSION_NAME: order.sessionName,
    BERTH_KERNEL_ID: order.kernelId,
    BERTH_ATTEMPT: String(order.attempt),
    BERTH_ROLE: order.role,
    BERTH_RANK: rank,
    BERTH_SIZE: size,
    BERTH_HOSTS: hosts.join(','),
    BERTH_MASTER_ADDR: master,
    BERTH_MASTER_PORT: port,
    BERTH_GPU_COUNT: '0',
  };
}

/** Peers may or may not name this kernel itself; it stands at its rank once. */
function hostsByRank({ peers, rank, hostname }: LaunchOrder): readonly string[] {
  const byRank = new Map([...peers, { rank, hostname }].map((kernel) => [kernel.rank, kernel.hostname]));
  return [...byRank].sort(([a], [b]) => a - b).map(([, name]) => name);
}

/** Peers of one engine find each other by name in its network; those of others by address. */
function networkOf(order: LaunchOrder): NonNullable<ContainerSpec['network']> {
  const elsewhere = order.peers.filter((peer) => !peer.sameEngine && peer.rank !== order.rank);
  return {
    name: networkName(order.sessionId),
    aliases: [order.hostname],
    extraHosts: Object.fromEntries(elsewhere.map((peer) => [peer.hostname, peer.address])),
  };
}

function deviceRequest({ devices }: LaunchOrder, side: NodeSide): ContainerDevices | undefined {
  try {
    return toDeviceRequest(devices, side);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new StartRefused({ cause: 'device-unavailable', whose: 'platform', message: error.message });
  }
}
