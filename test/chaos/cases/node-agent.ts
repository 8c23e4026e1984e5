import { expect } from 'vitest';
import type { Berth } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { containerEnds, containerIdOf } from '../support/engine-of.js';
import { ended, failedWith, outcome, reaches, running, STOPPED, submit } from '../support/sessions.js';

async function killedAt(berth: Berth, step: string): Promise<void> {
  const session = await submit(berth, { run: 'sleep 1; exit 9', gpus: 2 });
  await reaches(berth, session, step);
  await berth.kill('node');
  expect(outcome(await ended(berth, session))).toEqual(failedWith(9));
  await berth.back('node');
}

export const nodeAgentCases: readonly ChaosCase[] = [
  {
    title: 'the node agent is killed while containers run: they go on, and an exit in its absence is seen',
    seconds: 30,
    run: async (berth) => {
      const long = await submit(berth, { run: 'sleep 600', gpus: 1 });
      const short = await submit(berth, { run: 'sleep 4; exit 5', gpus: 1 });
      await running(berth, long);
      await running(berth, short);
      const container = await containerIdOf(berth, long.id);
      const goOn = berth.freezeSupervisor();
      await berth.kill('node');
      await containerEnds(berth, short.id);
      goOn();
      expect(outcome(await ended(berth, short))).toEqual(failedWith(5));
      await berth.back('node');
      expect((await berth.client.sessions.get(long.id)).state).toBe('RUNNING');
      expect(await containerIdOf(berth, long.id)).toBe(container);
      await berth.client.sessions.stop(long.id);
      expect(await ended(berth, long)).toMatchObject(STOPPED);
    },
  },
  ...['SCHEDULED', 'PREPARING', 'CREATING', 'TERMINATING'].map(
    (step): ChaosCase => ({
      title: `the node agent is killed when its session is ${step}`,
      seconds: 25,
      run: (berth) => killedAt(berth, step),
    }),
  ),
];
