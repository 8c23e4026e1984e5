import { expect } from 'vitest';
import type { ChaosCase } from '../support/chaos-case.js';
import { containerEnds, containerIdOf } from '../support/engine-of.js';
import { ended, failedWith, outcome, running, STOPPED, submit } from '../support/sessions.js';

export const supervisorCases: readonly ChaosCase[] = [
  {
    title: 'the supervisor is killed: after the next `berth up` what ran goes on, and what ended meanwhile is told',
    seconds: 40,
    run: async (berth) => {
      const long = await submit(berth, { run: 'sleep 600', gpus: 2 });
      const short = await submit(berth, { run: 'sleep 4; exit 8', gpus: 2 });
      await running(berth, long);
      await running(berth, short);
      const container = await containerIdOf(berth, long.id);
      await berth.killSupervisor();
      await containerEnds(berth, short.id);
      await berth.up();
      expect(outcome(await ended(berth, short))).toEqual(failedWith(8));
      expect((await berth.client.sessions.get(long.id)).state).toBe('RUNNING');
      expect(await containerIdOf(berth, long.id)).toBe(container);
      await berth.client.sessions.stop(long.id);
      expect(await ended(berth, long)).toMatchObject(STOPPED);
    },
  },
];
