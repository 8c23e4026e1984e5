import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { connectDocker } from '../../src/docker/connect.js';
import type { ContainerSpec } from '../../src/docker/container-spec.js';
import { ContainerFailure } from '../../src/docker/failures.js';
import { testEngine, textOf } from './engine.js';

const { containers, labels, spec, started, ended, unique } = testEngine();

/** The failure of creating or starting, or of the exit where the engine tells only then. */
async function failureOf(overrides: Partial<ContainerSpec>): Promise<ContainerFailure | undefined> {
  const wanted = spec(overrides);
  try {
    await containers.ensureCreated(wanted);
    const state = await containers.ensureStarted(wanted.name);
    for await (const _ of containers.logs(state.name, { follow: true })) continue;
    const over = await containers.stop(state.name, { graceSeconds: 0 });
    return over && (await containers.diagnoseExit(over));
  } catch (error) {
    if (error instanceof ContainerFailure) return error;
    throw error;
  }
}

const nvidia = { driver: 'nvidia', deviceIds: ['GPU-0'], environment: {} } as const;
const missing = { source: '/nowhere/at/all', target: '/x', readOnly: true };
const cases: readonly [title: string, given: Partial<ContainerSpec>, kind: string, detail: string][] = [
  ['an image that is not there', { image: 'berth/nosuch:1' }, 'image_not_found', 'No such image: berth/nosuch:1'],
  ['a program that is not there', { command: ['nosuch'] }, 'bad_command', 'nosuch failed: No such file or directory'],
  ['a file that is no program', { command: ['/etc'] }, 'bad_command', '/etc failed: Permission denied'],
  ['a user that is not there', { user: 'nosuch' }, 'bad_command', 'unable to find user nosuch'],
  ['a folder that is not there', { mounts: [missing] }, 'bad_mount', 'bind source path does not exist: /nowhere'],
  [
    'a GPU on an engine without the runtime',
    { devices: nvidia },
    'device_unavailable',
    'could not select device driver',
  ],
];
for (const [title, given, kind, detail] of cases) {
  test(`${title} is ${kind}`, async () => {
    const failure = await failureOf(given);
    expect(failure).toMatchObject({ kind });
    expect(failure?.detail).toContain(detail);
  });
}

test('a second start of what could not start fails the same way', async () => {
  const wanted = spec({ devices: nvidia });
  await containers.ensureCreated(wanted);
  for (let run = 0; run < 2; run += 1) {
    await expect(containers.ensureStarted(wanted.name)).rejects.toMatchObject({ kind: 'device_unavailable' });
  }
  await containers.remove(wanted.name);
});

test('a program that ends with 127 itself is not a bad command', async () => {
  const state = await ended({ command: ['sh', '-c', 'nosuch'] });
  expect(state.exitCode).toBe(127);
  expect(await containers.diagnoseExit(state)).toBeUndefined();
});

test('a command has begun when init runs it; one that is not there ends first, and is known as that then', async () => {
  const untilBegun = async (name: string): Promise<void> => {
    while (!(await containers.hasBegun(name))) continue;
  };
  const { name } = await started({ command: ['sleep', '60'] });
  await untilBegun(name);
  expect((await containers.inspect(name))?.status).toBe('running');
  for (let run = 0; run < 5; run += 1) {
    const wanted = spec({ command: ['/no/such'] });
    await containers.ensureCreated(wanted);
    const failure = await containers.ensureStarted(wanted.name).then(
      async (state) => {
        await untilBegun(state.name);
        return containers.diagnoseExit((await containers.inspect(state.name)) ?? state);
      },
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ kind: 'bad_command' });
  }
  expect(await containers.hasBegun('berth-is-not-there')).toBe(true);
});

test('a port of another container or program is taken, and free again afterwards', async () => {
  const port = { name: 'http', containerPort: 80, hostAddress: '127.0.0.1' };
  const first = await started({ ports: [{ ...port, hostPort: 0 }] });
  const hostPort = first.ports[0]?.hostPort ?? 0;
  expect(hostPort).toBeGreaterThan(0);
  const second = spec({ ports: [{ ...port, hostPort }] });
  await containers.ensureCreated(second);
  const refusal = { kind: 'port_taken', detail: `127.0.0.1:${hostPort}`, whose: 'platform', retryable: true };
  await expect(containers.ensureStarted(second.name)).rejects.toMatchObject(refusal);
  await containers.remove(first.name);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(hostPort, '127.0.0.1', resolve));
  await expect(containers.ensureStarted(second.name)).rejects.toMatchObject(refusal);
  await new Promise((resolve) => server.close(resolve));
  const state = await containers.ensureStarted(second.name);
  expect(state.ports).toEqual([{ containerPort: 80, hostPort, hostAddress: '127.0.0.1' }]);
});

test('the message of a failed create names no environment value', async () => {
  const failure = await failureOf({ image: 'berth/secret-hunter2:1', environment: { PASSWORD: 'hunter2' } });
  expect(failure?.message).toBe('the image does not exist: No such image: berth/secret-…:1');
});

test('two containers of a network find each other by alias, and an extra host is known', async () => {
  const name = unique('net');
  const network = await containers.ensureNetwork(name, { labels: { 'berth-test.owner': name } });
  expect(await containers.ensureNetwork(name, { labels: { 'berth-test.owner': name } })).toEqual(network);
  expect(await containers.listNetworks({ 'berth-test.owner': name })).toEqual([network]);
  const inside = (alias: string) => ({ network: { name, aliases: [alias], extraHosts: { far: '10.9.8.7' } } });
  const worker = await started(inside('worker1'));
  const script = 'nslookup worker1 127.0.0.11 | tail -n 4; grep far /etc/hosts; ping -c 1 -W 2 worker1 >/dev/null 2>&1';
  const main = await ended({ ...inside('main'), command: ['sh', '-c', script] });
  const output = await textOf(containers.logs(main.name));
  expect(output).toContain(worker.addresses[name]);
  expect(output).toMatch(/10\.9\.8\.7\s+far/);
  for (let run = 0; run < 2; run += 1) await containers.removeNetwork(name);
  expect(await containers.listNetworks({ 'berth-test.owner': name })).toEqual([]);
});

test('containers of an isolated network do not reach one another', async () => {
  const name = unique('net');
  await containers.ensureNetwork(name, { labels: { 'berth-test.owner': name }, isolated: true });
  const inside = { network: { name, aliases: [], extraHosts: {} } };
  const other = await started(inside);
  const script = `ping -c 1 -W 1 ${other.addresses[name]} >/dev/null 2>&1 && echo reached || echo alone`;
  const main = await ended({ ...inside, command: ['sh', '-c', script] });
  expect(await textOf(containers.logs(main.name))).toContain('alone');
  await containers.removeNetwork(name);
});

test('two callers at once make one network', async () => {
  const name = unique('net');
  const labels = { 'berth-test.owner': name };
  await Promise.all([1, 2, 3].map(() => containers.ensureNetwork(name, { labels })));
  expect(await containers.listNetworks(labels)).toHaveLength(1);
  await containers.removeNetwork(name);
});

/** What two creates that cross leave behind, for as long as it takes to remove one. Engines from 25 on never allow it. */
async function twin(name: string): Promise<() => Promise<void>> {
  const docker = connectDocker();
  const made = await docker.createNetwork({ Name: name, Labels: labels }).catch(() => undefined);
  return async () => {
    await made?.remove();
  };
}

test('a container is created and started as soon as its network is the only one of its name', async () => {
  const name = unique('net');
  const network = await containers.ensureNetwork(name, { labels });
  const wanted = spec({ network: { name, aliases: [], extraHosts: {} } });
  const beforeCreate = await twin(name);
  const created = containers.ensureCreated(wanted);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await beforeCreate();
  await created;
  const beforeStart = await twin(name);
  const running = containers.ensureStarted(wanted.name);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await beforeStart();
  expect(await running).toMatchObject({ status: 'running' });
  await twin(name);
  expect(await containers.ensureNetwork(name, { labels })).toEqual(network);
  expect(await containers.listNetworks(labels)).toEqual([network]);
});

test('the engine says who it is', async () => {
  const info = await containers.engineInfo();
  expect(info.runtimes).toContain('runc');
  expect(info).toMatchObject({ version: expect.stringMatching(/^\d+\./), apiVersion: expect.stringMatching(/^1\./) });
  expect(Math.min(info.cpus, info.memoryBytes, info.id.length)).toBeGreaterThan(0);
  expect(await containers.engineInfo()).toEqual(info);
});
