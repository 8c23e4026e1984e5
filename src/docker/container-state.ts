import type { ContainerInspectInfo } from 'dockerode';

export const CONTAINER_STATUSES = ['created', 'running', 'paused', 'restarting', 'removing', 'exited', 'dead'] as const;
export type ContainerStatus = (typeof CONTAINER_STATUSES)[number];

/** A port as it really is: `hostPort` is the one in use, also where the spec left the choice to the engine. */
export interface BoundPort {
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostAddress: string;
}

export interface ContainerState {
  readonly id: string;
  readonly name: string;
  readonly status: ContainerStatus;
  readonly labels: Readonly<Record<string, string>>;
  readonly imageId: string;
  readonly createdAt: Date;
  /** Unset as long as it never ran, also after a start that failed. */
  readonly startedAt?: Date;
  readonly finishedAt?: Date;
  /** Only of a container that ran and ended. 128 + n: ended by signal n. */
  readonly exitCode?: number;
  /**
   * A process of the container was killed because it went over the memory limit. Reliable for the main process; the
   * engine may miss the kill of a child when the container ends within milliseconds of it.
   */
  readonly oomKilled: boolean;
  /** Host ports are bound while it runs only. */
  readonly ports: readonly BoundPort[];
  /** Address of the container in each of its networks. */
  readonly addresses: Readonly<Record<string, string>>;
}

export function containerState(info: ContainerInspectInfo): ContainerState {
  const status = CONTAINER_STATUSES.find((known) => known === info.State.Status) ?? 'dead';
  const startedAt = moment(info.State.StartedAt);
  const ended = startedAt !== undefined && (status === 'exited' || status === 'dead');
  const finishedAt = ended ? notBefore(startedAt, moment(info.State.FinishedAt)) : undefined;
  return {
    id: info.Id,
    name: info.Name.replace(/^\//, ''),
    status,
    labels: info.Config.Labels ?? {},
    imageId: info.Image,
    createdAt: new Date(info.Created),
    ...(startedAt && { startedAt }),
    ...(finishedAt && { finishedAt }),
    ...(ended && { exitCode: info.State.ExitCode }),
    oomKilled: info.State.OOMKilled,
    ports: boundPorts(info),
    addresses: addresses(info),
  };
}

/** The engine notes the start a little late: a container of a few milliseconds ends before it. Charges are intervals. */
function notBefore(startedAt: Date, finishedAt: Date | undefined): Date | undefined {
  return finishedAt !== undefined && finishedAt < startedAt ? startedAt : finishedAt;
}

/** The engine writes year 1 for "never". */
function moment(text: string): Date | undefined {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() <= 1 ? undefined : date;
}

/** An engine that listens on IPv4 and IPv6 names a port twice; the first stands. */
function boundPorts(info: ContainerInspectInfo): readonly BoundPort[] {
  const ports = new Map<string, BoundPort>();
  for (const [key, bindings] of Object.entries(info.NetworkSettings.Ports ?? {})) {
    for (const binding of bindings ?? []) {
      const port = { containerPort: Number.parseInt(key, 10), hostPort: Number(binding.HostPort) };
      const id = `${port.containerPort} ${port.hostPort}`;
      if (!ports.has(id)) ports.set(id, { ...port, hostAddress: binding.HostIp });
    }
  }
  return [...ports.values()];
}

function addresses(info: ContainerInspectInfo): Record<string, string> {
  const networks = Object.entries(info.NetworkSettings.Networks ?? {});
  return Object.fromEntries(networks.flatMap(([name, { IPAddress }]) => (IPAddress ? [[name, IPAddress]] : [])));
}
