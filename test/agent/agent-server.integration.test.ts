import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runKey } from '../../src/agent/kernel-container.js';
import type { LaunchOrder, StreamFrame } from '../../src/contract/index.js';
import { eventually } from '../support/process.js';
import { newKernelId, startTestNode, type TestAgent, type TestNode } from './support/agent-fixture.js';

let here: TestNode;
let started: TestAgent;
beforeEach(async () => {
  here = await startTestNode();
  started = await here.startAgent();
});
afterEach(() => here.close());

interface Asked {
  readonly order: LaunchOrder;
  readonly operation: 'logs' | 'exec';
  readonly query?: string;
  readonly body?: unknown;
  readonly token?: string | undefined;
  readonly signal?: AbortSignal;
}

const tokenFor = (order: LaunchOrder, changes: Record<string, unknown> = {}, audience = `node/${here.node}`) =>
  here.signer.sign({
    audience,
    seconds: 60,
    claims: { kernelId: order.kernelId, attempt: 1, operation: 'logs', ...changes },
  });

async function ask({ order, operation, query = '', body, token, signal }: Asked): Promise<Response> {
  const bearer = token ?? (await tokenFor(order, { operation }));
  return fetch(`http://127.0.0.1:${started.agent.port}/v1/kernels/${order.kernelId}/1/${operation}${query}`, {
    method: operation === 'exec' ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
}

const framesOf = async (response: Response): Promise<StreamFrame[]> =>
  (await response.text())
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StreamFrame);

const textOf = (frames: readonly StreamFrame[], stream: string): string =>
  frames.map((frame) => ('data' in frame && frame.stream === stream ? atob(frame.data) : '')).join('');

async function talker(): Promise<LaunchOrder> {
  const order = here.order({ command: ['sh', '-c', 'echo one; echo two; echo bad >&2; sleep 600'] });
  await started.start([order]);
  await eventually('it spoke', async () => (await framesOf(await ask({ order, operation: 'logs' }))).length >= 2);
  return order;
}

describe("the agent's port", () => {
  test('answers for itself without a token', async () => {
    expect((await fetch(`http://127.0.0.1:${started.agent.port}/healthz`)).status).toBe(200);
  });

  test('gives logs under a token for that run alone', async () => {
    const order = await talker();
    const frames = await framesOf(await ask({ order, operation: 'logs' }));
    expect(textOf(frames, 'stdout')).toBe('one\ntwo\n');
    expect(textOf(frames, 'stderr')).toBe('bad\n');
    const refused = [
      await tokenFor(order, { kernelId: newKernelId() }),
      await tokenFor(order, { attempt: 2 }),
      await tokenFor(order, { operation: 'exec' }),
      await tokenFor(order, {}, 'node/another'),
      await tokenFor(order, {}, 'storage'),
      'rubbish',
    ];
    for (const token of refused) expect((await ask({ order, operation: 'logs', token })).status).toBe(401);
  });

  test('gives the kept log once the container is removed, also its last lines alone', async () => {
    const order = await talker();
    await started.remove([order]);
    const all = await framesOf(await ask({ order, operation: 'logs' }));
    expect([textOf(all, 'stdout'), textOf(all, 'stderr')]).toEqual(['one\ntwo\n', 'bad\n']);
    const last = await framesOf(await ask({ order, operation: 'logs', query: '?tail=2' }));
    expect(last.length).toBe(2);
    const stranger = { ...order, kernelId: newKernelId() };
    expect((await ask({ order: stranger, operation: 'logs' })).status, runKey(stranger)).toBe(404);
  });

  test('follows a log until the container ends', async () => {
    const order = here.order({ command: ['sh', '-c', 'echo one; sleep 1; echo two'] });
    await started.start([order]);
    const frames = await framesOf(await ask({ order, operation: 'logs', query: '?follow=true' }));
    expect(textOf(frames, 'stdout')).toBe('one\ntwo\n');
  });

  test('runs a command and says its exit code', async () => {
    const order = await talker();
    const command = ['sh', '-c', 'echo $X; pwd; exit 7'];
    const body = { command, environment: { X: 'y' }, workdir: '/tmp' };
    const frames = await framesOf(await ask({ order, operation: 'exec', body }));
    expect(textOf(frames, 'stdout')).toBe('y\n/tmp\n');
    expect(frames.at(-1)).toEqual({ exitCode: 7 });
  });

  test('refuses a command of a bad shape, and one for a container that does not run', async () => {
    const order = await talker();
    expect((await ask({ order, operation: 'exec', body: { command: [] } })).status).toBe(400);
    await started.remove([order]);
    expect((await ask({ order, operation: 'exec', body: { command: ['true'] } })).status).toBe(404);
  });

  test('lets go of a stream when its client goes', async () => {
    const order = await talker();
    const client = new AbortController();
    const response = await ask({ order, operation: 'exec', body: { command: ['sleep', '60'] }, signal: client.signal });
    expect(response.status).toBe(200);
    client.abort();
    await started.remove([order]);
  });
});
