import type { ContainerCreateOptions } from 'dockerode';
import { expect, test } from 'vitest';
import { containerConfig } from '../../src/docker/container-config.js';
import type { ContainerSpec } from '../../src/docker/container-spec.js';
import { MIB, spec } from './spec.js';

const nvidia = {
  driver: 'nvidia',
  deviceIds: ['GPU-a', 'MIG-b'],
  environment: { NVIDIA_VISIBLE_DEVICES: 'GPU-a,MIG-b' },
} as const;
const simulated = {
  driver: 'simulated',
  deviceIds: ['sim-0'],
  environment: { BERTH_SIMULATED_GPUS: 'sim-0' },
} as const;
const port = (containerPort: number, hostPort: number) => ({
  name: 'p',
  containerPort,
  hostPort,
  hostAddress: '127.0.0.1',
});

const cases: readonly [title: string, given: Partial<ContainerSpec>, want: ContainerCreateOptions][] = [
  [
    'no capability, no new privilege, no host namespace',
    {},
    {
      HostConfig: {
        CapDrop: ['ALL'],
        CapAdd: [],
        Privileged: false,
        SecurityOpt: ['no-new-privileges'],
        IpcMode: 'private',
      },
    },
  ],
  ['an init that passes signals on, and no restart', {}, { HostConfig: { Init: true, RestartPolicy: { Name: 'no' } } }],
  ['memory without swap', { memoryBytes: 64 * MIB }, { HostConfig: { Memory: 64 * MIB, MemorySwap: 64 * MIB } }],
  ['never no memory limit at all', { memoryBytes: 0 }, { HostConfig: { Memory: 6 * MIB, MemorySwap: 6 * MIB } }],
  ['a quota of CPU', { cpuMilli: 2500 }, { HostConfig: { CpuPeriod: 100_000, CpuQuota: 250_000, CpuShares: 2560 } }],
  ['the smallest quota that the kernel takes', { cpuMilli: 1 }, { HostConfig: { CpuQuota: 1_000, CpuShares: 2 } }],
  ['the lowest weight for no CPU', { cpuMilli: 0 }, { HostConfig: { CpuShares: 2 } }],
  ['4096 processes', {}, { HostConfig: { PidsLimit: 4096 } }],
  [
    'its own limit of processes and shared memory',
    { pidsLimit: 10, shmBytes: MIB },
    { HostConfig: { PidsLimit: 10, ShmSize: MIB } },
  ],
  [
    '20 MiB of log at most',
    {},
    { HostConfig: { LogConfig: { Type: 'json-file', Config: { 'max-size': '10485760', 'max-file': '2' } } } },
  ],
  [
    'folders, read-only where asked',
    { mounts: [{ source: '/a', target: '/b', readOnly: true }] },
    {
      HostConfig: {
        Mounts: [
          { Type: 'bind', Source: '/a', Target: '/b', ReadOnly: true, BindOptions: { Propagation: 'rprivate' } },
        ],
      },
    },
  ],
  [
    'two host ports for one of its own',
    { ports: [port(80, 8001), port(80, 8002)] },
    {
      ExposedPorts: { '80/tcp': {} },
      HostConfig: {
        PortBindings: {
          '80/tcp': [
            { HostIp: '127.0.0.1', HostPort: '8001' },
            { HostIp: '127.0.0.1', HostPort: '8002' },
          ],
        },
      },
    },
  ],
  [
    'a network, aliases and hosts',
    { network: { name: 'n', aliases: ['worker1'], extraHosts: { main: '10.0.0.1' } } },
    {
      HostConfig: { NetworkMode: 'n', ExtraHosts: ['main:10.0.0.1'] },
      NetworkingConfig: { EndpointsConfig: { n: { Aliases: ['worker1'] } } },
    },
  ],
  [
    'exactly its real devices',
    { devices: nvidia },
    { HostConfig: { DeviceRequests: [{ Driver: 'nvidia', DeviceIDs: ['GPU-a', 'MIG-b'], Capabilities: [['gpu']] }] } },
  ],
  [
    'a read-only image with a /tmp',
    { readonlyRootfs: true },
    { HostConfig: { ReadonlyRootfs: true, Tmpfs: { '/tmp': 'rw,nosuid,nodev,mode=1777' } } },
  ],
  ['command and arguments in one', { command: ['python3'], args: ['a.py', '-v'] }, { Cmd: ['python3', 'a.py', '-v'] }],
  [
    'its own entry point, folder, user, host name and stop signal',
    { entrypoint: ['/e'], workdir: '/w', user: '1000', hostname: 'main', stopSignal: 'SIGUSR1' },
    { Entrypoint: ['/e'], WorkingDir: '/w', User: '1000', Hostname: 'main', StopSignal: 'SIGUSR1' },
  ],
];
for (const [title, given, want] of cases) {
  test(`a container has ${title}`, () => expect(containerConfig(spec(given))).toMatchObject(want));
}

const environments: readonly [title: string, given: Partial<ContainerSpec>, want: readonly string[]][] = [
  [
    'sees no GPU without devices, whatever the request says',
    { environment: { NVIDIA_VISIBLE_DEVICES: 'all' } },
    ['NVIDIA_VISIBLE_DEVICES=void'],
  ],
  [
    'sees its own GPUs only, whatever the request says',
    { devices: nvidia, environment: { NVIDIA_VISIBLE_DEVICES: 'all' } },
    ['NVIDIA_VISIBLE_DEVICES=GPU-a,MIG-b'],
  ],
  ['is told its simulated GPUs', { devices: simulated }, ['BERTH_SIMULATED_GPUS=sim-0', 'NVIDIA_VISIBLE_DEVICES=void']],
  ['keeps values with = and line ends', { environment: { A: 'x=1\ny' } }, ['A=x=1\ny']],
];
for (const [title, given, want] of environments) {
  test(`a container ${title}`, () => {
    const names = want.map((entry) => entry.slice(0, entry.indexOf('=')));
    const given_ = containerConfig(spec(given)).Env ?? [];
    expect(given_.filter((entry) => names.includes(entry.slice(0, entry.indexOf('='))))).toEqual(
      expect.arrayContaining([...want]),
    );
    expect(new Set(given_.map((entry) => entry.slice(0, entry.indexOf('=')))).size).toBe(given_.length);
  });
}

test.each([
  ['no CPU', { cpuMilli: 0 }, ['CpuQuota', 'CpuPeriod']],
  ['simulated devices', { devices: simulated }, ['DeviceRequests']],
  ['no network of its own', {}, ['NetworkMode', 'ExtraHosts', 'PidMode', 'UTSMode', 'UsernsMode']],
])('with %s nothing is said of it to the engine', (_title, given, absent) => {
  const { HostConfig = {} } = containerConfig(spec(given));
  for (const field of absent) expect(HostConfig).not.toHaveProperty(field);
});

test('a second call gives the same configuration', () => {
  expect(containerConfig(spec())).toEqual(containerConfig(spec()));
});
