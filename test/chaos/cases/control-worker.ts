import { expect } from 'vitest';
import type { Berth } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { ended, failedWith, outcome, path, reaches, SUCCESS, submit } from '../support/sessions.js';

const STEPS = ['SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING', 'TERMINATING'] as const;

/** Its exit code tells its truth: nothing but the container knows it. */
async function killedAt(berth: Berth, step: string): Promise<void> {
  const session = await submit(berth, { run: 'sleep 2; exit 7', gpus: 1 });
  await reaches(berth, session, step);
  await berth.kill('control-1');
  expect(outcome(await ended(berth, session))).toEqual(failedWith(7));
  const states = await path(berth, session);
  expect(states).toEqual([...new Set(states)]);
  await berth.back('control-1');
}

const atEachStep = STEPS.map(
  (step): ChaosCase => ({
    title: `the control worker is killed when its session is ${step}`,
    seconds: 20,
    run: (berth) => killedAt(berth, step),
  }),
);

export const controlWorkerCases: readonly ChaosCase[] = [
  {
    title: 'the control worker is killed before it can admit a session',
    seconds: 20,
    run: async (berth) => {
      const goOn = berth.freezeSupervisor();
      await berth.kill('control-1');
      const session = await submit(berth, { run: 'exit 0', gpus: 1 });
      expect(session.state).toBe('SUBMITTED');
      goOn();
      expect(outcome(await ended(berth, session))).toEqual(SUCCESS);
      await berth.back('control-1');
    },
  },
  {
    title: 'the control worker is killed while its session is PENDING, and what blocked it ends meanwhile',
    seconds: 25,
    run: async (berth) => {
      const blocker = await submit(berth, { run: 'sleep 3', gpus: 4 });
      await reaches(berth, blocker, 'RUNNING');
      const waiter = await submit(berth, { run: 'exit 7', gpus: 4 });
      await reaches(berth, waiter, 'PENDING');
      await berth.kill('control-1');
      expect(outcome(await ended(berth, blocker))).toEqual(SUCCESS);
      expect(outcome(await ended(berth, waiter))).toEqual(failedWith(7));
      await berth.back('control-1');
    },
  },
  ...atEachStep,
];
