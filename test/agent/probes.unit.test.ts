import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type KernelContainer, runKey } from '../../src/agent/kernel-container.js';
import { openMarks } from '../../src/agent/marks.js';
import { createProbes, type Probes } from '../../src/agent/probes.js';
import { createReplicaMetrics } from '../../src/agent/replica-metrics.js';
import type { HealthCheck, NodeReport, ReplicaMetrics } from '../../src/contract/index.js';
import { createLogger } from '../../src/platform/log.js';
import { eventually } from '../support/process.js';
import { newKernelId } from './support/launch-order.js';

const log = createLogger({ process: 'test', level: 'silent' });
const ending = new Set<() => void | Promise<void>>();
let dir: string;
let server: Server;
let port: number;
/** What the program answers now; undefined: it is slow. */
let status: number | undefined;
let figures = '';
let probes: Probes;
let told: Extract<NodeReport, { kind: 'health' }>[] = [];
const batches: ReplicaMetrics[] = [];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'berth-probes-'));
  status = 200;
  told = [];
  batches.length = 0;
  await listen(0);
  probes = await agent();
});
afterEach(async () => {
  for (const end of ending) await end();
  ending.clear();
  await close();
  rmSync(dir, { recursive: true, force: true });
});

async function listen(at: number): Promise<void> {
  server = createServer((request, response) => {
    if (request.url === '/metrics') return void response.end(figures);
    if (status !== undefined) response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
}
const close = (): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

async function agent(): Promise<Probes> {
  const over = new AbortController();
  const reader = createReplicaMetrics({ api: { replicaMetrics: async (batch) => void batches.push(batch) }, log });
  void reader.run(over.signal);
  const post = async (report: NodeReport) => void told.push(report as (typeof told)[number]);
  const made = createProbes({ outbox: { post }, answered: await openMarks(dir), figures: reader, log });
  ending.add(() => {
    made.stopAll();
    over.abort();
  });
  return made;
}

const check: HealthCheck = {
  ...{ path: '/health', port: 8000, intervalSeconds: 0.05, timeoutSeconds: 0.5, failures: 3 },
  ...{ initialDelaySeconds: 60, refusedIsUnhealthy: false },
};
function kernel(changes: Partial<HealthCheck> | null, fields: Partial<KernelContainer> = {}): KernelContainer {
  const ports = [{ containerPort: 8000, hostPort: port, hostAddress: '127.0.0.1' }];
  const container = { ports, addresses: { solo: '127.0.0.1' }, startedAt: new Date() };
  return {
    ...{ kernelId: newKernelId(), attempt: 1, state: 'running', metrics: null },
    health: changes && { ...check, ...changes },
    container: container as unknown as KernelContainer['container'],
    ...fields,
  } as KernelContainer;
}
const levels = () => told.map(({ level, healthy }) => [level, healthy]);
const until = (level: string) => eventually(level, () => told.at(-1)?.level === level);

describe('a check', () => {
  test('that misses is degraded at once, unhealthy after its failures in a row, and healthy with one success', async () => {
    probes.watch(kernel({}));
    await until('healthy');
    status = 503;
    await until('unhealthy');
    expect(told.at(1)?.message).toBe('a check failed: status 503');
    expect(told.at(2)?.message).toBe('3 checks in a row failed: status 503');
    status = 200;
    await until('healthy');
    expect(levels()).toEqual([
      ['healthy', true],
      ['degraded', true],
      ['unhealthy', false],
      ['healthy', true],
    ]);
  });

  test('that misses fewer times than it may was degraded only', async () => {
    probes.watch(kernel({ failures: 1000 }));
    await until('healthy');
    status = undefined;
    await until('degraded');
    expect(told.at(-1)?.message).toBe('a check failed: no answer within 0.5 s');
    status = 200;
    await until('healthy');
    expect(told).toHaveLength(3);
  });

  test('of a replica that is refused is unhealthy at once after the first success, and says nothing before it', async () => {
    await close();
    probes.watch(kernel({ refusedIsUnhealthy: true, failures: 1000 }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(told).toEqual([]);
    await listen(port);
    await until('healthy');
    await close();
    await until('unhealthy');
    expect(told.map(({ message }) => message)).toEqual([
      'answers on /health',
      'a check failed: the connection is refused',
    ]);
    await listen(port);
    await until('healthy');
  });

  test('that is refused says nothing of a container whose exit is told right after', async () => {
    const run = kernel({ refusedIsUnhealthy: true });
    probes.watch(run);
    await until('healthy');
    await close();
    await new Promise((resolve) => setTimeout(resolve, 150));
    probes.stop(run);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(levels()).toHaveLength(1);
    await listen(port);
  });

  test('of a published port that is closed at once is refused when nobody listens in the container', async () => {
    const proxy = createTcpServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    ending.add(() => void proxy.close());
    const served = kernel({ refusedIsUnhealthy: true, failures: 1000, port });
    const closed = { containerPort: port, hostPort: (proxy.address() as AddressInfo).port, hostAddress: '127.0.0.1' };
    await (await openMarks(dir)).add(runKey(served));
    probes = await agent();
    probes.watch({ ...served, container: { ...served.container, ports: [closed] } });
    await until('degraded'); // somebody listens in it, and may be busy
    await close();
    await until('unhealthy');
    await listen(port);
  });

  test('goes on where the agent before it was: a first success that was seen stays seen', async () => {
    const run = kernel({ refusedIsUnhealthy: true });
    probes.watch(run);
    await until('healthy');
    probes.stopAll();
    await close();
    (await agent()).watch(run);
    await until('unhealthy');
    expect(levels()).toHaveLength(2);
    await listen(port);
  });
});

describe('figures of a replica', () => {
  const metrics = { port: 8000, path: '/metrics', everySeconds: 1 };

  test('are read with and without a check, and told together', async () => {
    figures = 'vllm:num_requests_waiting{engine="0"} 2\nvllm:num_requests_waiting{engine="1"} 3\nbad NaN\n';
    const one = kernel(null, { metrics });
    const other = kernel({}, { metrics });
    probes.watch(one);
    probes.watch(other);
    await eventually('told', () => batches.some(({ replicas }) => replicas.length === 2));
    const [batch] = batches.filter(({ replicas }) => replicas.length === 2);
    const values = { 'vllm:num_requests_waiting': 5 };
    expect(batch?.replicas).toEqual([one, other].map(({ kernelId }) => ({ kernelId, attempt: 1, values })));
  });

  test('that are endless, or none, are not told', async () => {
    figures = 'a 1\n'.repeat(2 ** 21);
    probes.watch(kernel(null, { metrics }));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(batches).toEqual([]);
  });
});
