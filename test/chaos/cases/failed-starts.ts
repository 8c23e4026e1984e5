import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect } from 'vitest';
import { releaseOrder } from '../../../src/cli/demo/release-order.js';
import type { Session } from '../../../src/contract/index.js';
import { testRegistry } from '../../docker/registry.js';
import type { Berth } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { ended, history, outcome, SUCCESS, submit, type Wanted } from '../support/sessions.js';

interface FailedStart {
  readonly what: string;
  readonly end: Pick<Session, 'result' | 'cause'>;
  /** What makes it fail; `undo` is called afterwards. */
  readonly arrange: (berth: Berth) => Promise<{ readonly wanted: Wanted; readonly undo?: () => Promise<void> }>;
}

const MIB = 2 ** 20;

const FAILED_STARTS: readonly FailedStart[] = [
  {
    what: 'an image that does not exist',
    end: { result: 'failure', cause: 'bad-image' },
    arrange: async () => {
      const registry = await testRegistry({ login: false });
      return { wanted: { run: '', image: `${registry.repository}:none` }, undo: registry.close };
    },
  },
  {
    what: 'a command that does not exist',
    end: { result: 'failure', cause: 'bad-command' },
    arrange: async () => ({ wanted: { run: '', command: ['/no/such/program'] } }),
  },
  {
    what: 'a port while all of the node are taken',
    end: { result: 'platform-failure', cause: 'port-taken' },
    arrange: async ({ hostPort }) => {
      const server = createServer().listen({ port: hostPort, host: '0.0.0.0', exclusive: true });
      await once(server, 'listening');
      const undo = async () => void server.close();
      return { wanted: { run: 'sleep 600', ports: [{ name: 'http', containerPort: 80 }] }, undo };
    },
  },
  {
    what: 'too little memory to start in',
    end: { result: 'failure', cause: 'out-of-memory' },
    arrange: async () => ({ wanted: { run: 'sleep 600', memoryBytes: 4 * MIB } }),
  },
];

/** The first in the queue holds every device; the next one needs them all. */
async function nextStarts(berth: Berth, { arrange, end }: FailedStart): Promise<void> {
  const { wanted, undo } = await arrange(berth);
  try {
    const failing = await submit(berth, { ...wanted, gpus: 4 });
    const next = await submit(berth, { run: 'exit 0', gpus: 4 });
    expect(await ended(berth, failing)).toMatchObject({ ...end, state: 'ERROR', startedAt: null });
    expect(outcome(await ended(berth, next))).toEqual(SUCCESS);
    releaseOrder(await history(berth, failing), await history(berth, next));
  } finally {
    await undo?.();
  }
}

export const failedStartCases: readonly ChaosCase[] = FAILED_STARTS.map((failed) => ({
  title: `a start that asks for ${failed.what} releases node, then ledger, and then the next one starts`,
  seconds: 15,
  run: (berth) => nextStarts(berth, failed),
}));
