/** A folder or file of the host seen inside the container. `source` must exist on the host. */
export interface MountSpec {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

export interface PortSpec {
  readonly name: string;
  readonly containerPort: number;
  /** 0 lets the engine choose; `inspect` tells which it took. */
  readonly hostPort: number;
  readonly hostAddress: string;
}

/**
 * What the container gets of the node's GPUs. `nvidia` asks the engine for exactly these device ids; `nvidia-cdi` does so by
 * their names in the container device interface, whose hooks then run; `simulated` only tells the program, through
 * `environment`, which devices it may pretend to have.
 */
export interface DeviceRequestSpec {
  readonly driver: 'nvidia' | 'nvidia-cdi' | 'simulated';
  readonly deviceIds: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface NetworkSpec {
  readonly name: string;
  /** Names under which the other containers of this network find this one. */
  readonly aliases: readonly string[];
  /** Host name → address, for kernels that run on another node. */
  readonly extraHosts: Readonly<Record<string, string>>;
}

export interface LogLimits {
  readonly fileBytesMax: number;
  readonly filesMax: number;
}

/** Everything that decides how a container is made; equal specs have equal hashes (`spec-hash.ts`). */
export interface ContainerSpec {
  /** Derived from ids by the caller, so that a second attempt finds the first one's container. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workdir?: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Hard ceiling, in thousandths of a core. 0: no ceiling, but the lowest weight: only what nobody else wants. */
  readonly cpuMilli: number;
  /** Hard ceiling without swap; at least 6 MiB, the engine's own minimum, since 0 would mean "no limit". */
  readonly memoryBytes: number;
  readonly pidsLimit?: number;
  readonly shmBytes?: number;
  /** Private when unset. `shareable`: others may join its /dev/shm; `container:<name>`: joins that of a running one. */
  readonly ipc?: 'private' | 'shareable' | `container:${string}`;
  readonly mounts: readonly MountSpec[];
  readonly ports: readonly PortSpec[];
  readonly devices?: DeviceRequestSpec;
  readonly network?: NetworkSpec;
  readonly hostname?: string;
  readonly stopSignal?: string;
  readonly user?: string;
  /** The image cannot be written; /tmp becomes a tmpfs that counts towards `memoryBytes`. */
  readonly readonlyRootfs?: boolean;
  readonly logLimits?: LogLimits;
}

export interface RegistryAuth {
  readonly username: string;
  readonly password: string;
  readonly serverAddress?: string;
}
