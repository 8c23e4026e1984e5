import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { engine } from '../../infra/setup/docker.mjs';
import { containerName, networkName, readKernel } from '../../src/agent/kernel-container.js';
import type { LaunchOrder, StartFailure } from '../../src/contract/index.js';
import type { Containers } from '../../src/docker/containers.js';
import { ContainerFailure } from '../../src/docker/failures.js';
import { listContainers } from '../support/docker.js';
import { eventually } from '../support/process.js';
import { newKernelId, newSessionId, startTestNode, type TestNode } from './support/agent-fixture.js';
import { orderedDevice } from './support/launch-order.js';

let here: TestNode;
beforeEach(async () => {
  here = await startTestNode();
});
afterEach(async () => {
  const { violations } = here.api;
  await here.close();
  expect(violations).toEqual([]);
});

const containersHere = () => listContainers(`berth.node=${here.node}`);

async function failureOf(start: Promise<void>): Promise<ApplicationFailure> {
  const error: unknown = await start.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ApplicationFailure) return error;
  throw new Error('expected an ApplicationFailure', { cause: error });
}

const causeOf = (failure: ApplicationFailure): StartFailure | undefined => failure.details?.[0] as StartFailure;

describe('startKernels', () => {
  test('runs the container that the order says, and run twice it is still that one', async () => {
    const { start } = await here.startAgent();
    const order = here.order({ epoch: 7, ports: [{ name: 'http', containerPort: 8000 }] });
    await start([order]);
    const [first] = await containersHere();
    await start([order]);
    const all = await containersHere();
    expect(all.map(({ id, state }) => [id, state])).toEqual([[first?.id, 'running']]);
    const kernel = readKernel((await here.engine.inspect(containerName(order)))!);
    expect(kernel).toMatchObject({ kernelId: order.kernelId, epoch: 7, role: 'main', graceSeconds: 1 });
    const [ports] = here.api.reportsOf('ports');
    expect(ports?.ports).toEqual(kernel?.ports);
    expect(kernel?.container.ports[0]?.hostPort).toBe(kernel?.ports[0]?.hostPort);
  });

  test('tells that it creates', async () => {
    const { start } = await here.startAgent();
    await start([here.order()]);
    await eventually('it is told', () => here.api.reportsOf('progress').some(({ phase }) => phase === 'creating'));
  });

  test('creates nothing when the API refuses the order', async () => {
    const { start } = await here.startAgent();
    const order = here.order();
    here.api.onOrder = () => undefined;
    expect(await failureOf(start([order]))).toMatchObject({ type: 'PlacementOver', nonRetryable: true });
    expect(await containersHere()).toEqual([]);
  });

  test('creates nothing when the placement ends while the image comes', async () => {
    const { start } = await here.startAgent();
    const order = here.order();
    here.api.onOrder = (given, asked) => (asked === 1 ? given : undefined);
    expect(await failureOf(start([order]))).toMatchObject({ type: 'PlacementOver' });
    expect(await containersHere()).toEqual([]);
  });

  test('creates nothing after the deadline', async () => {
    const { start } = await here.startAgent();
    const order = here.order({ deadline: new Date(Date.now() - 1000).toISOString() });
    expect(await failureOf(start([order]))).toMatchObject({ type: 'PlacementOver' });
    expect(await containersHere()).toEqual([]);
  });

  const failures: [title: string, changes: () => Partial<LaunchOrder>, want: Partial<StartFailure>][] = [
    [
      'an image that cannot be had',
      () => ({ image: 'sha256:' + '0'.repeat(64) }),
      { cause: 'bad-image', whose: 'user' },
    ],
    ['a command that is not there', () => ({ command: ['/no/such'] }), { cause: 'bad-command', whose: 'user' }],
    ['a working directory that is no path', () => ({ workdir: 'x' }), { cause: 'bad-command', whose: 'user' }],
    ['a folder that leads out', () => ({ mounts: [mount('fld_out')] }), { cause: 'folder-refused' }],
    ['a volume of another node', () => ({ mounts: [{ ...mount('f'), volume: 'no' }] }), { cause: 'folder-refused' }],
  ];
  for (const [title, changes, want] of failures) {
    test(`${title} is a StartFailure that leaves nothing`, async () => {
      symlinkSync('/etc', join(here.volumeDir, 'fld_out'));
      const { start } = await here.startAgent();
      const failure = await failureOf(start([here.order(changes())]));
      expect(failure).toMatchObject({ type: 'StartFailure', nonRetryable: true });
      expect(causeOf(failure)).toMatchObject(want);
      expect(await containersHere()).toEqual([]);
    });
  }

  test('ports that run out are port-taken, and come back with a removal', async () => {
    const first = 42_000 + Math.floor(Math.random() * 10_000);
    const { start, remove } = await here.startAgent({ settings: { portRange: { first, last: first } } });
    const ports = [{ name: 'http', containerPort: 80 }];
    const [one, two] = [here.order({ ports }), here.order({ ports })];
    await start([one]);
    expect(causeOf(await failureOf(start([two])))).toMatchObject({ cause: 'port-taken', whose: 'platform' });
    await remove([one]);
    await start([two]);
    expect((await containersHere()).map(({ name }) => name)).toEqual([containerName(two)]);
  });

  test('mounts a folder, gives the devices of the order and the names of Berth', async () => {
    mkdirSync(join(here.volumeDir, 'fld_data'));
    const { start } = await here.startAgent();
    const order = here.order({
      mounts: [mount('fld_data')],
      devices: [orderedDevice(1)],
      environment: { MASTER_PORT: '1234', BERTH_RANK: '9' },
      command: ['sh', '-c', 'env; touch /data/x; sleep 600'],
    });
    await start([order]);
    await eventually('it wrote', async () => (await logOf(order)).includes('BERTH_SESSION_ID'));
    const log = await logOf(order);
    for (const line of ['BERTH_RANK=0', 'MASTER_PORT=1234', 'BERTH_SIMULATED_GPUS=sim-1', 'WORLD_SIZE=1']) {
      expect(log).toContain(line);
    }
  });

  test('a share of a simulated GPU is told what it has and what that guarantees', async () => {
    const { start } = await here.startAgent();
    const share = { memoryBytes: 12 * 2 ** 30, limitBytes: 12 * 2 ** 30 };
    const order = here.order({
      devices: [orderedDevice(1, { sharing: 'mps', share })],
      environment: { BERTH_GPU_MEMORY_BYTES: '1', BERTH_GPU_SHARING: 'whole' },
    });
    await start([order]);
    const { text } = await engine('GET', `/containers/${containerName(order)}/json`);
    const { Config, HostConfig } = JSON.parse(text) as {
      Config: { Env: string[] };
      HostConfig: { DeviceRequests: unknown };
    };
    expect(Config.Env.filter((entry) => /GPU|MPS|NVIDIA/.test(entry)).sort()).toEqual([
      'BERTH_GPU_COUNT=1',
      'BERTH_GPU_GUARANTEES=simulated: memory enforced, compute together, faults shared',
      `BERTH_GPU_MEMORY_BYTES=${12 * 2 ** 30}`,
      'BERTH_GPU_SHARING=mps',
      'BERTH_SIMULATED_GPUS=sim-1',
      'NVIDIA_VISIBLE_DEVICES=void',
    ]);
    expect(HostConfig.DeviceRequests).toBeNull();
  });

  test('a share by MPS is not started where no control daemon runs', async () => {
    const { start } = await here.startAgent({ settings: { mpsDirectory: join(here.stateDir, 'no-mps') } });
    const share = { memoryBytes: 2 ** 30, limitBytes: 2 ** 30 };
    const order = here.order({ devices: [orderedDevice(0, { id: 'GPU-a', simulated: false, sharing: 'mps', share })] });
    expect(causeOf(await failureOf(start([order])))).toMatchObject({ cause: 'device-unavailable', whose: 'platform' });
    expect(await containersHere()).toEqual([]);
  });

  test('kernels of one session find each other by name, and all go or none', async () => {
    const { start, remove } = await here.startAgent();
    const sessionId = newSessionId();
    const [a, b] = [newKernelId(), newKernelId()];
    const peer = (hostname: string, rank: number) => ({
      ...{ hostname, rank, role: 'x', node: here.node, address: '127.0.0.1', sameEngine: true },
    });
    const both = { sessionId, size: 2, peers: [peer('main', 0), peer('worker1', 1)] };
    const listens = ['sh', '-c', 'echo "you found me" | nc -l -p $MASTER_PORT; sleep 600'];
    const main = here.order({ ...both, kernelId: a, command: listens });
    const seeks = 'echo $BERTH_HOSTS; until nc -w 5 $MASTER_ADDR $MASTER_PORT; do sleep 0.2; done; sleep 600';
    const command = ['sh', '-c', seeks];
    const worker = here.order({ ...both, kernelId: b, rank: 1, role: 'worker', hostname: 'worker1', command });
    await start([worker, main]);
    await eventually('the worker reaches the main kernel', async () => (await logOf(worker)).includes('you found me'));
    expect(await logOf(worker)).toContain('main,worker1');
    await remove([main, worker]);
    expect(await containersHere()).toEqual([]);
    const networks = await here.engine.listNetworks({ 'berth.session': sessionId });
    expect(networks.map(({ name }) => name)).not.toContain(networkName(sessionId));
  });

  test('one bad kernel undoes the others of the call, and how they end is told to nobody', async () => {
    const { start } = await here.startAgent();
    const sessionId = newSessionId();
    const good = here.order({ sessionId, size: 2 });
    const bad = here.order({ sessionId, size: 2, rank: 1, hostname: 'w', command: ['/no/such'] });
    expect(causeOf(await failureOf(start([good, bad])))).toMatchObject({ cause: 'bad-command' });
    expect(await containersHere()).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(here.api.reportsOf('exited').filter(({ kernelId }) => kernelId === good.kernelId)).toEqual([]);
  });

  const steps = ['imageDigest', 'ensureNetwork', 'inspect', 'ensureCreated', 'ensureStarted'] as const;
  for (const step of steps) {
    for (const when of ['before', 'after'] as const) {
      test(`killed ${when} ${step}: the next try goes on, and a removal leaves nothing`, async () => {
        const { start, remove } = await here.startAgent({ wrap: (engine) => failsOnce(engine, step, when) });
        const sessionId = newSessionId();
        const orders = [here.order({ sessionId, size: 2 }), here.order({ sessionId, size: 2, rank: 1, hostname: 'w' })];
        await expect(start(orders)).rejects.toThrow();
        await start(orders);
        expect((await containersHere()).map(({ state }) => state)).toEqual(['running', 'running']);
        await remove(orders);
        expect(await containersHere()).toEqual([]);
        expect(await here.engine.listNetworks({ 'berth.session': sessionId })).toEqual([]);
      });
    }
  }

  test('a removal ends a start that is under way, and nothing is created after it', async () => {
    const { start, remove } = await here.startAgent({
      wrap: (engine) => ({
        ...engine,
        ensureCreated: async (spec) => {
          await new Promise((resolve) => setTimeout(resolve, 500));
          return engine.ensureCreated(spec);
        },
      }),
    });
    const order = here.order();
    const starting = start([order]).catch(() => 'ended');
    await eventually('it creates', () => here.api.reportsOf('progress').length > 0);
    await remove([order]);
    expect(await starting).toBe('ended');
    expect(await containersHere()).toEqual([]);
  });

  test('a removal that leaves less time cuts the one short that is under way', async () => {
    const { start, remove } = await here.startAgent();
    const order = here.order({ command: ['sh', '-c', 'trap "" TERM; echo deaf; while :; do sleep 1; done'] });
    await start([order]);
    await eventually('it heeds nothing', async () => (await logOf(order)).includes('deaf'));
    const patient = remove([order], 600_000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await remove([order], 0);
    await patient;
    expect(await containersHere()).toEqual([]);
    expect(here.api.reportsOf('exited')).toMatchObject([{ exitCode: 137 }]);
  });
});

const mount = (folderId: string) => ({ volume: 'main', folderId, target: '/data', readOnly: false });

async function logOf(order: LaunchOrder): Promise<string> {
  let text = '';
  for await (const { data } of here.engine.logs(containerName(order))) text += data.toString();
  return text;
}

/** As if the agent had died there: the engine is not reachable for one call, of which it may have done the work. */
function failsOnce(engine: Containers, step: keyof Containers, when: 'before' | 'after'): Containers {
  let isArmed = true;
  const original = engine[step] as (...args: unknown[]) => Promise<unknown>;
  const failing = async (...args: unknown[]): Promise<unknown> => {
    if (!isArmed) return original(...args);
    isArmed = false;
    if (when === 'after') await original(...args);
    throw new ContainerFailure('engine_unavailable', 'the test says so');
  };
  return { ...engine, [step]: failing };
}
