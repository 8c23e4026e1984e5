import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ControlActivities } from '../../activities/control/control-activities.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import { allowPreemption, gpus, running, statesOf, stop } from './course.js';

/** Each step of a preemption fails once: before it did anything, or after it did all (its answer was lost). */
const STEPS = ['plan', 'begin', 'markRunning', 'beginNotice', 'finish'] as const;
type Step = (typeof STEPS)[number];

let plane: ControlPlane;
let broken: { step: Step; when: 'before' | 'after' } | null = null;
let broke = 0;

const breakOnce = (step: Step, when: 'before' | 'after') => {
  if (broken?.step !== step || broken.when !== when) return;
  broken = null;
  broke += 1;
  throw new Error(`${step} died ${when} its effect`);
};

beforeAll(async () => {
  plane = await startControlPlane({
    wrap: (activities) => {
      const wrapped: Record<string, unknown> = { ...activities };
      for (const step of STEPS) {
        const act = (activities as unknown as Record<Step, (...input: unknown[]) => Promise<unknown>>)[step];
        wrapped[step] = async (...input: unknown[]) => {
          breakOnce(step, 'before');
          const answer = await act(...input);
          breakOnce(step, 'after');
          return answer;
        };
      }
      return wrapped as unknown as ControlActivities;
    },
  });
  await allowPreemption(plane);
});
afterAll(() => plane.stop());

for (const step of STEPS) {
  for (const when of ['before', 'after'] as const) {
    test(`${step} that dies ${when} its effect: the one that is preempted leaves once, and runs again once`, async () => {
      const low = await plane.submit(gpus(4, { priority: 10, gracePeriodSeconds: 0.2 }));
      await running(plane, low);
      broken = { step, when };
      const before = broke;
      const high = await plane.submit(gpus(4, { priority: 50 }));
      await running(plane, high);
      expect(await plane.session(low)).toMatchObject({ state: 'PENDING', attempt: 1 });
      await stop(plane, high, 0);
      await running(plane, low, 2);
      await eventually('the step died', () => broke === before + 1);
      const states = await statesOf(plane, low);
      expect(states.filter((state) => state === 'PREEMPTING')).toHaveLength(1);
      expect(states.filter((state) => state === 'RUNNING')).toHaveLength(2);
      await stop(plane, low, 0);
      await plane.until(low, 'TERMINATED');
      await plane.settled();
    });
  }
}
