import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect } from 'vitest';
import { PYTHON_IMAGE } from '../../../infra/setup/image.mjs';
import type { Session, SessionEvent } from '../../../src/contract/index.js';
import { testRegistry } from '../../docker/registry.js';
import type { Berth } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { ended, history, outcome, SUCCESS, submit, type Wanted } from '../support/sessions.js';

interface FailedStart {
  readonly what: string;
  readonly end: Partial<Session>;
  /** What makes it fail; `undo` is called afterwards. */
  readonly arrange: (berth: Berth) => Promise<{ readonly wanted: Wanted; readonly undo?: () => Promise<void> }>;
}

const MIB = 2 ** 20;
const NEVER_RAN = { state: 'ERROR', startedAt: null } as const;
/** More than its memory, before it has done anything else. */
const TOO_MUCH = ['python3', '-c', 'bytearray(256 * 2 ** 20)'];

const FAILED_STARTS: readonly FailedStart[] = [
  {
    what: 'an image that does not exist',
    end: { ...NEVER_RAN, result: 'failure', cause: 'bad-image' },
    arrange: async () => {
      const registry = await testRegistry({ login: false });
      return { wanted: { run: '', image: `${registry.repository}:none` }, undo: registry.close };
    },
  },
  {
    what: 'a command that does not exist',
    end: { ...NEVER_RAN, result: 'failure', cause: 'bad-command' },
    arrange: async () => ({ wanted: { run: '', command: ['/no/such/program'] } }),
  },
  {
    what: 'a port while all of the node are taken',
    end: { ...NEVER_RAN, result: 'platform-failure', cause: 'port-taken' },
    arrange: async ({ hostPorts }) => {
      const servers = hostPorts.map((port) => createServer().listen({ port, host: '0.0.0.0', exclusive: true }));
      // one that somebody else has is taken, too
      await Promise.allSettled(servers.map((server) => once(server, 'listening')));
      const undo = async () => {
        for (const server of servers) server.close();
      };
      return { wanted: { run: 'sleep 600', ports: [{ name: 'http', containerPort: 80 }] }, undo };
    },
  },
  {
    what: 'less memory than its program needs',
    end: { result: 'failure', cause: 'out-of-memory' },
    arrange: async () => ({ wanted: { run: '', image: PYTHON_IMAGE, command: TOO_MUCH, memoryBytes: 16 * MIB } }),
  },
];

const stateEvent = (events: readonly SessionEvent[], ...to: string[]): SessionEvent => {
  const found = events.find((event) => event.kind === 'state' && to.includes(event.to ?? ''));
  if (found === undefined) throw new Error(`no ${to.join(' or ')} in the history`);
  return found;
};

const momentOf = ({ at }: SessionEvent): number => Date.parse(at);

/**
 * The end is written by the ledger's own release, and says that the node had released before. What the platform failed is
 * tried again after a while, and the next one may have its turn meanwhile: what was tried before that had been released by then.
 */
function releasedInOrder(failed: readonly SessionEvent[], next: readonly SessionEvent[]): void {
  const end = stateEvent(failed, 'ERROR', 'TERMINATED');
  expect(end.data).toMatchObject({ nodeReleased: true });
  expect(momentOf(end)).toBeGreaterThanOrEqual(momentOf(stateEvent(failed, 'TERMINATING')));
  const placed = momentOf(stateEvent(next, 'SCHEDULED'));
  const before = failed.filter((event) => event.kind === 'state' && momentOf(event) <= placed);
  expect(before.at(-1)?.to).toMatch(/^(PENDING|ERROR|TERMINATED)$/);
}

/** The first in the queue holds every device; the next one needs them all. */
async function nextStarts(berth: Berth, { arrange, end }: FailedStart): Promise<void> {
  const { wanted, undo } = await arrange(berth);
  try {
    const failing = await submit(berth, { ...wanted, gpus: 4 });
    const next = await submit(berth, { run: 'exit 0', gpus: 4 });
    expect(await ended(berth, failing)).toMatchObject(end);
    expect(outcome(await ended(berth, next))).toEqual(SUCCESS);
    releasedInOrder(await history(berth, failing), await history(berth, next));
  } finally {
    await undo?.();
  }
}

export const failedStartCases: readonly ChaosCase[] = FAILED_STARTS.map((failed) => ({
  title: `a start that asks for ${failed.what} releases node, then ledger, and then the next one starts`,
  seconds: 15,
  run: (berth) => nextStarts(berth, failed),
}));
