import { expect } from 'vitest';
import type { Session } from '../../../src/contract/index.js';
import type { Berth } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { ended, outcome, path, reaches, submit } from '../support/sessions.js';

const STATES = ['SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING', 'TERMINATING'] as const;

/** A second stop, and one after the end, change nothing. */
async function stopTwice({ client }: Berth, { id }: Session): Promise<void> {
  await Promise.all([client.sessions.stop(id), client.sessions.stop(id)]);
}

async function isTruthful(berth: Berth, session: Session): Promise<void> {
  const found = await ended(berth, session);
  const stopped =
    found.startedAt === null
      ? { state: 'CANCELLED', result: 'cancelled', cause: 'user-stop' }
      : { state: 'TERMINATED', result: 'stopped', cause: 'user-stop' };
  expect(outcome(found)).toMatchObject(stopped);
  expect(outcome(await berth.client.sessions.stop(session.id))).toEqual(outcome(found));
  const states = await path(berth, session);
  expect(states).toEqual([...new Set(states)]);
}

async function cancelAt(berth: Berth, state: string): Promise<void> {
  const session = await submit(berth, { run: 'sleep 600', gpus: 1 });
  if (state === 'TERMINATING') {
    await reaches(berth, session, 'RUNNING');
    await stopTwice(berth, session);
  }
  await reaches(berth, session, state);
  await stopTwice(berth, session);
  await isTruthful(berth, session);
}

export const cancellationCases: readonly ChaosCase[] = [
  {
    title: 'a session cancelled twice before it is admitted is CANCELLED',
    seconds: 15,
    run: async (berth) => {
      const goOn = berth.freezeSupervisor();
      await berth.kill('control-1');
      const session = await submit(berth, { run: 'sleep 600', gpus: 1 });
      expect(session.state).toBe('SUBMITTED');
      await stopTwice(berth, session);
      goOn();
      await isTruthful(berth, session);
      await berth.back('control-1');
    },
  },
  {
    title: 'a session cancelled twice while PENDING is CANCELLED at once, and the next one is not held up',
    seconds: 15,
    run: async (berth) => {
      const blocker = await submit(berth, { run: 'sleep 600', gpus: 4 });
      await reaches(berth, blocker, 'RUNNING');
      const waiter = await submit(berth, { run: 'sleep 600', gpus: 4 });
      await reaches(berth, waiter, 'PENDING');
      const next = await submit(berth, { run: 'sleep 600' });
      await stopTwice(berth, waiter);
      expect((await berth.client.sessions.get(waiter.id)).state).toBe('CANCELLED');
      await isTruthful(berth, waiter);
      await reaches(berth, next, 'RUNNING');
      for (const session of [blocker, next]) {
        await stopTwice(berth, session);
        await isTruthful(berth, session);
      }
    },
  },
  ...STATES.map(
    (state): ChaosCase => ({
      title: `a session cancelled twice when ${state} ends as its start and its stop say`,
      seconds: 10,
      run: (berth) => cancelAt(berth, state),
    }),
  ),
];
