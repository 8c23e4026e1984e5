import { connect, type Socket } from 'node:net';
import type { ContainerState } from '../docker/container-state.js';
import type { Containers } from '../docker/containers.js';
import { containerName, type KernelRun } from './kernel-container.js';

const CONNECT_MS = 3_000;

/** `none`: no such container; `stopped`; `closed`: nothing listens on the port (yet). */
export type PortRefusal = 'none' | 'stopped' | 'closed';

/**
 * A connection to a port of a kernel's container. By the container's own address, which tells at once when nothing
 * listens; where the machine has no way to it (an engine elsewhere), by the published port.
 */
export async function connectKernelPort(
  { inspect }: Pick<Containers, 'inspect'>,
  run: KernelRun,
  containerPort: number,
): Promise<Socket | PortRefusal> {
  const state = await inspect(containerName(run));
  if (state === undefined) return 'none';
  if (state.status !== 'running') return 'stopped';
  for (const place of placesOf(state, containerPort)) {
    const socket = await connected(place);
    if (socket === 'refused') return 'closed';
    if (socket !== 'unreachable') return socket;
  }
  return 'closed';
}

interface Place {
  readonly host: string;
  readonly port: number;
}

function placesOf({ addresses, ports }: ContainerState, containerPort: number): readonly Place[] {
  const own = Object.values(addresses).map((host) => ({ host, port: containerPort }));
  const published = ports
    .filter((bound) => bound.containerPort === containerPort)
    .map(({ hostAddress, hostPort }) => ({
      host: hostAddress === '0.0.0.0' ? '127.0.0.1' : hostAddress,
      port: hostPort,
    }));
  return [...own, ...published];
}

function connected(place: Place): Promise<Socket | 'refused' | 'unreachable'> {
  return new Promise((resolve) => {
    const socket = connect({ ...place, allowHalfOpen: true, noDelay: true });
    const give = (result: 'refused' | 'unreachable') => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(CONNECT_MS, () => give('unreachable'));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      give(error.code === 'ECONNREFUSED' ? 'refused' : 'unreachable'),
    );
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.removeAllListeners('error').removeAllListeners('timeout');
      resolve(socket);
    });
  });
}
