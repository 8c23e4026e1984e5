import type { ContainerCreateOptions, HostConfig } from 'dockerode';
import type { ContainerSpec, DeviceRequestSpec, LogLimits, PortSpec } from './container-spec.js';
import { SPEC_HASH_LABEL, specHash } from './spec-hash.js';

export const PIDS_LIMIT_DEFAULT = 4096;
/** The engine refuses less ("Minimum memory limit allowed is 6MB"), and takes 0 as "no limit". */
export const MEMORY_BYTES_MIN = 6 * 1024 * 1024;
const LOG_LIMITS_DEFAULT: LogLimits = { fileBytesMax: 10 * 1024 * 1024, filesMax: 2 };
const CPU_PERIOD_MICROSECONDS = 100_000;
/** The kernel takes no smaller quota than 1 ms a period. */
const CPU_QUOTA_MICROSECONDS_MIN = 1_000;
const CPU_SHARES_MIN = 2;
const CPU_SHARES_MAX = 262_144;

/** The engine's configuration for a spec: a function of the spec alone, so that two nodes make the same container. */
export function containerConfig(spec: ContainerSpec): ContainerCreateOptions {
  const command = [...(spec.command ?? []), ...(spec.args ?? [])];
  return {
    name: spec.name,
    Image: spec.image,
    Labels: { ...spec.labels, [SPEC_HASH_LABEL]: specHash(spec) },
    Env: environmentList(spec),
    ...(spec.entrypoint && { Entrypoint: [...spec.entrypoint] }),
    ...(command.length > 0 && { Cmd: command }),
    ...(spec.workdir !== undefined && { WorkingDir: spec.workdir }),
    ...(spec.user !== undefined && { User: spec.user }),
    ...(spec.hostname !== undefined && { Hostname: spec.hostname }),
    ...(spec.stopSignal !== undefined && { StopSignal: spec.stopSignal }),
    ExposedPorts: Object.fromEntries(spec.ports.map((port) => [portKey(port), {}])),
    HostConfig: hostConfig(spec),
    ...(spec.network && {
      NetworkingConfig: { EndpointsConfig: { [spec.network.name]: { Aliases: [...spec.network.aliases] } } },
    }),
  };
}

function hostConfig(spec: ContainerSpec): HostConfig {
  return {
    ...isolation(spec),
    ...limits(spec),
    Init: true,
    RestartPolicy: { Name: 'no' },
    LogConfig: logConfig(spec.logLimits ?? LOG_LIMITS_DEFAULT),
    Mounts: spec.mounts.map((mount) => ({
      Type: 'bind' as const,
      Source: mount.source,
      Target: mount.target,
      ReadOnly: mount.readOnly,
      BindOptions: { Propagation: 'rprivate' as const },
    })),
    PortBindings: portBindings(spec.ports),
    ...(spec.network && {
      NetworkMode: spec.network.name,
      ExtraHosts: Object.entries(spec.network.extraHosts).map(([host, address]) => `${host}:${address}`),
    }),
    ...deviceRequests(spec.devices),
  };
}

/** No host namespace is ever asked for: private pid, network and uts; ipc, too, or one that containers of one member share. */
function isolation(spec: ContainerSpec): HostConfig {
  return {
    CapDrop: ['ALL'],
    CapAdd: [],
    Privileged: false,
    SecurityOpt: ['no-new-privileges'],
    IpcMode: spec.ipc ?? 'private',
    ReadonlyRootfs: spec.readonlyRootfs ?? false,
    ...(spec.readonlyRootfs && { Tmpfs: { '/tmp': 'rw,nosuid,nodev,mode=1777' } }),
  };
}

function limits(spec: ContainerSpec): HostConfig {
  const memoryBytes = Math.max(spec.memoryBytes, MEMORY_BYTES_MIN);
  return {
    ...cpuLimits(spec.cpuMilli),
    Memory: memoryBytes,
    MemorySwap: memoryBytes,
    PidsLimit: spec.pidsLimit ?? PIDS_LIMIT_DEFAULT,
    ...(spec.shmBytes !== undefined && { ShmSize: spec.shmBytes }),
  };
}

/** A quota, not NanoCpus: the engine refuses NanoCpus above the host's cores, which a declared capacity may exceed. */
function cpuLimits(cpuMilli: number): HostConfig {
  if (cpuMilli <= 0) return { CpuShares: CPU_SHARES_MIN };
  const quota = Math.round((cpuMilli * CPU_PERIOD_MICROSECONDS) / 1000);
  const shares = Math.round((cpuMilli * 1024) / 1000);
  return {
    CpuPeriod: CPU_PERIOD_MICROSECONDS,
    CpuQuota: Math.max(quota, CPU_QUOTA_MICROSECONDS_MIN),
    CpuShares: Math.min(Math.max(shares, CPU_SHARES_MIN), CPU_SHARES_MAX),
  };
}

function logConfig({ fileBytesMax, filesMax }: LogLimits): NonNullable<HostConfig['LogConfig']> {
  return { Type: 'json-file', Config: { 'max-size': String(fileBytesMax), 'max-file': String(filesMax) } };
}

const portKey = (port: PortSpec): string => `${port.containerPort}/tcp`;

/** Several host ports may lead to one container port. */
function portBindings(ports: readonly PortSpec[]): Record<string, { HostIp: string; HostPort: string }[]> {
  const bindings: Record<string, { HostIp: string; HostPort: string }[]> = {};
  for (const port of ports) {
    (bindings[portKey(port)] ??= []).push({ HostIp: port.hostAddress, HostPort: String(port.hostPort) });
  }
  return bindings;
}

function deviceRequests(devices: DeviceRequestSpec | undefined): HostConfig {
  if (devices === undefined || devices.deviceIds.length === 0 || devices.driver === 'simulated') return {};
  if (devices.driver === 'nvidia-cdi') {
    const DeviceIDs = devices.deviceIds.map((id) => `nvidia.com/gpu=${id}`);
    return { DeviceRequests: [{ Driver: 'cdi', DeviceIDs }] };
  }
  return { DeviceRequests: [{ Driver: 'nvidia', DeviceIDs: [...devices.deviceIds], Capabilities: [['gpu']] }] };
}

/**
 * Last word to the devices: where NVIDIA's runtime is the engine's default, `NVIDIA_VISIBLE_DEVICES=all` in a
 * request or an image would hand out every GPU, so a container without real devices gets `void`.
 */
function environmentList(spec: ContainerSpec): string[] {
  const environment = {
    ...spec.environment,
    NVIDIA_VISIBLE_DEVICES: 'void',
    ...spec.devices?.environment,
  };
  return Object.entries(environment).map(([name, value]) => `${name}=${value}`);
}
