import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAgentMetrics } from '../../src/agent/agent-metrics.js';
import { ApiFailure } from '../../src/agent/api-client.js';
import { openContact } from '../../src/agent/contact.js';
import { inventoryHash } from '../../src/agent/inventory.js';
import { AgentRuns, takeLock } from '../../src/agent/lock-file.js';
import { createLogStore } from '../../src/agent/log-store.js';
import { decodeTail } from '../../src/agent/log-tail.js';
import { createOutbox } from '../../src/agent/outbox.js';
import { createPortClaims } from '../../src/agent/port-claims.js';
import { startFailureOf } from '../../src/agent/start-failure.js';
import { createTurns } from '../../src/agent/turns.js';
import type { NodeReport } from '../../src/contract/index.js';
import { ContainerFailure, type FailureKind } from '../../src/docker/failures.js';
import type { OutputFrame } from '../../src/docker/frames.js';
import { createLogger } from '../../src/platform/log.js';
import { newKernelId } from './support/launch-order.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'berth-agent-parts-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('startFailureOf', () => {
  const cases: [kind: FailureKind, want: string | undefined][] = [
    ['image_not_found', 'bad-image user'],
    ['registry_auth', 'bad-image user'],
    ['pull_failed', 'pull-failed platform'],
    ['bad_command', 'bad-command user'],
    ['bad_mount', 'folder-refused platform'],
    ['port_taken', 'port-taken platform'],
    ['device_unavailable', 'device-unavailable platform'],
    ['out_of_memory', 'out-of-memory user'],
    ['engine_error', 'engine-failed platform'],
    ['engine_unavailable', undefined],
  ];
  for (const [kind, want] of cases) {
    test(`${kind} is ${want ?? 'tried again'}`, () => {
      const failure = startFailureOf(new ContainerFailure(kind));
      expect(failure && `${failure.cause} ${failure.whose}`).toBe(want);
    });
  }
});

describe('decodeTail', () => {
  test('keeps the last 64 KiB, cut at a character', () => {
    const text = decodeTail(Buffer.from('€'.repeat(30_000)));
    expect(text).toBe('€'.repeat(21_845));
  });
  test('has no NUL', () => expect(decodeTail(Buffer.from('a\0b'))).toBe('a\uFFFDb'));
});

describe('the log store', () => {
  const run = { kernelId: newKernelId(), attempt: 1 };
  const out = (text: string, stream: OutputFrame['stream'] = 'stdout'): OutputFrame => ({
    stream,
    data: Buffer.from(text),
  });
  const from = async function* (frames: readonly OutputFrame[]) {
    yield* frames;
  };
  const textOf = async (frames: AsyncIterable<OutputFrame> | undefined): Promise<string> => {
    let text = '';
    for await (const { data } of frames ?? []) text += data.toString();
    return text;
  };

  const tails: [tail: number, want: string][] = [
    [0, ''],
    [1, 'three\n'],
    [2, 'two\nthree\n'],
    [9, 'one\ntwo\nthree\n'],
  ];
  for (const [tail, want] of tails) {
    test(`reads the last ${tail} lines, across frames`, async () => {
      const store = createLogStore({ dir });
      await store.save(run, from([out('one\ntw'), out('o\n', 'stderr'), out('three\n')]));
      expect(await textOf(await store.read(run, { tail }))).toBe(want);
    });
  }

  test('is bounded, and says that it was cut', async () => {
    const store = createLogStore({ dir, bytesMax: 100 });
    await store.save(run, from(Array.from({ length: 50 }, () => out('0123456789\n'))));
    const text = await textOf(await store.read(run));
    expect(text.length).toBeLessThan(200);
    expect(text).toContain('longer than is kept');
  });

  test('keeps what is young and removes what is old', async () => {
    const store = createLogStore({ dir, keptMs: 1000 });
    await store.save(run, from([out('x')]));
    expect(await store.sweep(new Date())).toBe(0);
    expect(await store.sweep(new Date(Date.now() + 5000))).toBe(1);
    expect(await store.read(run)).toBeUndefined();
  });

  test('takes no name that leads elsewhere', async () => {
    await expect(createLogStore({ dir }).read({ kernelId: '../../etc/passwd', attempt: 1 })).rejects.toThrow(
      RangeError,
    );
  });
});

describe('the outbox', () => {
  const report = (healthy: boolean, kernelId = newKernelId()): NodeReport => ({
    ...{ kind: 'health', kernelId, attempt: 1, healthy, message: '' },
  });
  const withApi = (send: (reports: readonly NodeReport[]) => void) => {
    const ending = new AbortController();
    const api = {
      report: async (reports: readonly NodeReport[]) => {
        send(reports);
        return [];
      },
    };
    const log = createLogger({ process: 'test', level: 'silent' });
    const outbox = createOutbox({ api, metrics: createAgentMetrics(new Registry()), log });
    return { outbox, end: () => ending.abort(), done: outbox.run(ending.signal) };
  };

  test('sends again until it is acknowledged, and a newer report replaces one that waits', async () => {
    const sent: boolean[] = [];
    let failures = 2;
    const { outbox, end, done } = withApi((reports) => {
      if (failures-- > 0) throw new ApiFailure('report');
      for (const one of reports) if (one.kind === 'health') sent.push(one.healthy);
    });
    const kernelId = newKernelId();
    const first = outbox.post(report(true, kernelId));
    const second = outbox.post(report(false, kernelId));
    await Promise.all([first, second]);
    expect(sent.at(-1)).toBe(false);
    expect(outbox.waiting()).toBe(0);
    end();
    await done;
  });

  test('drops a report that the API refuses for ever, and no other', async () => {
    const bad = newKernelId();
    const taken: string[] = [];
    const { outbox, end, done } = withApi((reports) => {
      if (reports.some(({ kernelId }) => kernelId === bad)) throw new ApiFailure('report', 400);
      taken.push(...reports.map(({ kernelId }) => kernelId));
    });
    const good = newKernelId();
    await Promise.all([outbox.post(report(true, bad)), outbox.post(report(true, good))]);
    expect(taken).toEqual([good]);
    end();
    await done;
  });
});

describe('turns', () => {
  const never = new AbortController().signal;

  test('a removal ends the start of its session and waits for it', async () => {
    const turns = createTurns(() => new Error('it ends'));
    const seen: string[] = [];
    const starting = turns.run('s', never, async (signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      seen.push('start let go');
    });
    await new Promise((resolve) => setImmediate(resolve));
    await turns.end('s', async () => void seen.push('removed'));
    await starting;
    expect(seen).toEqual(['start let go', 'removed']);
    expect(turns.running()).toBe(0);
  });

  test('another session does not wait', async () => {
    const turns = createTurns(() => new Error('it ends'));
    void turns.run('a', never, () => new Promise(() => undefined));
    expect(await turns.end('b', async () => 'done')).toBe('done');
    expect([turns.isRunning('a'), turns.isRunning('b')]).toEqual([true, false]);
  });

  test('a start that waits its turn is ended by a removal as well', async () => {
    const turns = createTurns(() => new Error('it ends'));
    const both = [1, 2].map(() =>
      turns.run(
        's',
        never,
        (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut')))),
      ),
    );
    const outcomes = Promise.allSettled(both);
    await turns.end('s', async () => undefined);
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});

describe('the lock', () => {
  test('is one for a name and an engine, and comes free', () => {
    const free = takeLock('n1', 'e', dir);
    expect(() => takeLock('n1', 'e', dir)).toThrow(AgentRuns);
    takeLock('n1', 'another engine', dir)();
    free();
    takeLock('n1', 'e', dir)();
  });
});

describe('inventoryHash', () => {
  const kernel = (epoch: number) => ({ kernelId: newKernelId(), attempt: 1, epoch, state: 'running' }) as never;
  test('does not depend on the order, but on each fact', () => {
    const [a, b] = [kernel(1), kernel(2)];
    expect(inventoryHash([a, b])).toBe(inventoryHash([b, a]));
    expect(inventoryHash([a])).not.toBe(inventoryHash([{ ...(a as object), state: 'exited' } as never]));
  });
});

describe('port claims', () => {
  test('of one agent are not to be had by another one, until they are freed', () => {
    const [one, other] = [createPortClaims(dir), createPortClaims(dir)];
    expect([one.claim(30_001), other.claim(30_001), other.claim(30_002)]).toEqual([true, false, true]);
    one.free(30_001);
    expect(other.claim(30_001)).toBe(true);
    other.freeAll();
    expect([one.claim(30_001), one.claim(30_002)]).toEqual([true, true]);
  });

  test('of an agent that is gone are free', () => {
    writeFileSync(join(dir, '30001'), JSON.stringify({ pid: 1, startTicks: 'of another process' }));
    expect(createPortClaims(dir).claim(30_001)).toBe(true);
  });
});

describe('contact', () => {
  test('is silent for as long as nothing was accepted, across a restart', async () => {
    const first = await openContact(dir);
    first.made();
    expect(first.silentMs()).toBeLessThan(500);
    await first.close();
    writeFileSync(join(dir, 'contact'), String(Date.now() - 90_000));
    const second = await openContact(dir);
    expect(second.silentMs()).toBeGreaterThanOrEqual(90_000);
    second.made();
    expect(second.silentMs()).toBeLessThan(500);
    await second.close();
  });

  test('begins with an agent that had none, and a clock that was set back makes it no shorter than that', async () => {
    expect((await openContact(dir)).silentMs()).toBeLessThan(500);
    writeFileSync(join(dir, 'contact'), String(Date.now() + 3_600_000));
    const silentMs = (await openContact(dir)).silentMs();
    expect(silentMs).toBeGreaterThanOrEqual(0);
    expect(silentMs).toBeLessThan(500);
  });
});
