import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectDocker } from '../../src/docker/connect.js';
import { type Containers, createContainers } from '../../src/docker/containers.js';
import type { ContainerExit } from '../../src/docker/exits.js';
import { testEngine } from './engine.js';

const { containers, labels, spec, started } = testEngine();

/** A road to the engine that can be cut. */
let folder = '';
let road: Server;
const travellers = new Set<Socket>();
let cuttable: Containers;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-docker-'));
  const socketPath = join(folder, 'docker.sock');
  road = createServer((socket) => {
    const engine = connect(process.env['DOCKER_HOST']?.replace('unix://', '') ?? '/var/run/docker.sock');
    for (const end of [socket, engine]) travellers.add(end.on('error', () => undefined));
    socket.pipe(engine).pipe(socket);
  });
  await new Promise<void>((resolve) => road.listen(socketPath, resolve));
  cuttable = createContainers({ docker: connectDocker({ socketPath }) });
});
const cut = (): void => {
  for (const traveller of travellers) traveller.destroy();
  travellers.clear();
};
afterAll(async () => {
  cut();
  await new Promise((resolve) => road.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

function watching(from: Containers, onReconnect: () => Promise<void> | void = () => undefined) {
  const abort = new AbortController();
  const exits: ContainerExit[] = [];
  const failures: string[] = [];
  let connections = 0;
  const end = from.watchExits({
    labels,
    signal: abort.signal,
    onExit: (exit) => void exits.push(exit),
    onReconnect: () => {
      connections += 1;
      return onReconnect();
    },
    onFailure: (failure) => failures.push(failure.kind),
  });
  const stop = async (): Promise<void> => {
    abort.abort();
    await end;
  };
  return { exits, failures, connections: () => connections, stop };
}

test('an exit is told with its code, name, labels and time', async () => {
  const watch = watching(containers);
  await expect.poll(watch.connections).toBe(1);
  const { name, id } = await started({ labels: { 'berth-test.exit': 'a=b' }, command: ['sh', '-c', 'exit 11'] });
  await expect.poll(() => watch.exits.length, { timeout: 10_000 }).toBe(1);
  expect(watch.exits[0]).toMatchObject({ id, name, exitCode: 11, oomKilled: false, finishedAt: expect.any(Date) });
  expect(watch.exits[0]?.labels).toMatchObject({ ...labels, 'berth-test.exit': 'a=b' });
  await watch.stop();
});

test('an exit while the caller lists is told after the list', async () => {
  const wanted = spec({ command: ['sh', '-c', 'exit 4'] });
  const seen: string[] = [];
  const watch = watching(containers, async () => {
    await containers.ensureCreated(wanted);
    await containers.ensureStarted(wanted.name);
    await expect.poll(async () => (await containers.inspect(wanted.name))?.exitCode, { timeout: 10_000 }).toBe(4);
    seen.push(`listed with ${watch.exits.length} told`);
  });
  await expect.poll(() => watch.exits.length, { timeout: 10_000 }).toBe(1);
  expect(seen).toEqual(['listed with 0 told']);
  await watch.stop();
});

test('when the connection is lost the watch connects again and says so', async () => {
  const watch = watching(cuttable);
  await expect.poll(watch.connections).toBe(1);
  cut();
  await expect.poll(watch.connections).toBe(2);
  expect(watch.failures).toEqual(['engine_unavailable']);
  const { name } = await started({ command: ['sh', '-c', 'exit 12'] });
  await expect.poll(() => watch.exits.map((exit) => exit.name), { timeout: 10_000 }).toEqual([name]);
  await watch.stop();
});

test('a listing that fails is tried again', async () => {
  let tries = 0;
  const watch = watching(containers, () => {
    tries += 1;
    if (tries < 3) throw new Error('not now');
  });
  await expect.poll(() => tries, { timeout: 5_000 }).toBe(3);
  expect(watch.failures).toHaveLength(2);
  await watch.stop();
});

test('an engine that is not there is tried again until the watch is stopped', async () => {
  const nowhere = createContainers({ docker: connectDocker({ socketPath: join(folder, 'nobody.sock') }) });
  const watch = watching(nowhere);
  await expect.poll(() => watch.failures.length, { timeout: 5_000 }).toBeGreaterThan(2);
  expect(watch.failures[0]).toBe('engine_unavailable');
  expect(watch.connections()).toBe(0);
  await watch.stop();
  await expect(nowhere.engineInfo()).rejects.toMatchObject({ kind: 'engine_unavailable', retryable: true });
});
