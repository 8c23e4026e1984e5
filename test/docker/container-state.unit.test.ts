import type { ContainerInspectInfo } from 'dockerode';
import { expect, test } from 'vitest';
import { containerState } from '../../src/docker/container-state.js';

const NEVER = '0001-01-01T00:00:00Z';
const binding = (HostIp: string, HostPort: string) => ({ HostIp, HostPort });

/** As engine 20.10 answers, with the fields that are read. */
function info(state: object, ports: object = {}): ContainerInspectInfo {
  return {
    Id: 'id',
    Name: '/berth-a-1',
    Image: 'sha256:1',
    Created: '2026-01-01T00:00:00.5Z',
    State: { Status: 'created', OOMKilled: false, ExitCode: 0, StartedAt: NEVER, FinishedAt: NEVER, ...state },
    Config: { Labels: null },
    NetworkSettings: { Ports: ports, Networks: { bridge: { IPAddress: '' }, n: { IPAddress: '10.0.0.2' } } },
  } as unknown as ContainerInspectInfo;
}

const at = (second: number): string => `2026-01-01T00:00:0${second}.25Z`;
const cases: readonly [title: string, state: object, want: object][] = [
  ['never started', {}, { status: 'created', startedAt: undefined, exitCode: undefined }],
  ['refused to start', { ExitCode: 128 }, { status: 'created', startedAt: undefined, exitCode: undefined }],
  [
    'runs',
    { Status: 'running', StartedAt: at(1) },
    { startedAt: new Date(at(1)), finishedAt: undefined, exitCode: undefined },
  ],
  [
    'ended',
    { Status: 'exited', StartedAt: at(1), FinishedAt: at(2), ExitCode: 3 },
    { finishedAt: new Date(at(2)), exitCode: 3 },
  ],
  [
    'ended before its start was noted',
    { Status: 'exited', StartedAt: at(2), FinishedAt: at(1) },
    { startedAt: new Date(at(2)), finishedAt: new Date(at(2)) },
  ],
  [
    'went over its memory',
    { Status: 'exited', StartedAt: at(1), FinishedAt: at(2), OOMKilled: true },
    { oomKilled: true },
  ],
  ['is in a state that we do not know', { Status: 'new', StartedAt: at(1), FinishedAt: at(2) }, { status: 'dead' }],
];
for (const [title, state, want] of cases) {
  test(`a container that ${title}`, () =>
    expect({ ...containerState(info(state)) }).toMatchObject(withoutUndefined(want)));
  test(`a container that ${title} claims nothing else`, () => {
    for (const [field, value] of Object.entries(want))
      if (value === undefined) expect(containerState(info(state))).not.toHaveProperty(field);
  });
}

const withoutUndefined = (want: object): object =>
  Object.fromEntries(Object.entries(want).filter(([, value]) => value !== undefined));

test('name, labels, addresses and ports are plain, and a port of both IP versions is told once', () => {
  const ports = { '80/tcp': [binding('0.0.0.0', '8080'), binding('::', '8080')], '90/tcp': null };
  expect(containerState(info({}, ports))).toMatchObject({
    name: 'berth-a-1',
    labels: {},
    addresses: { n: '10.0.0.2' },
    ports: [{ containerPort: 80, hostPort: 8080, hostAddress: '0.0.0.0' }],
  });
});
