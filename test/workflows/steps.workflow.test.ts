import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ControlActivities } from '../../activities/control/control-activities.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';

/** Each step of a session fails once: before it did anything, or after it did all (its answer was lost). */
type Step = Exclude<keyof ControlActivities, 'nodeSilent' | 'nodeGone' | 'failLost' | 'openPlacement' | 'markEnding'>;
const STEPS: readonly Step[] = ['admit', 'plan', 'begin', 'markRunning', 'finish'];

let plane: ControlPlane;
let broken: { step: Step; when: 'before' | 'after' } | null = null;
let broke = 0;

const breakOnce = async (step: Step, when: 'before' | 'after') => {
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
          await breakOnce(step, 'before');
          const answer = await act(...input);
          await breakOnce(step, 'after');
          return answer;
        };
      }
      return wrapped as unknown as ControlActivities;
    },
  });
  plane.node.behaviour.exitAfterMs = 20;
});
afterAll(() => plane.stop());

for (const step of STEPS) {
  for (const when of ['before', 'after'] as const) {
    test(`${step} that dies ${when} its effect is run again, and the session ends as it should`, async () => {
      broken = { step, when };
      const before = broke;
      const id = await plane.submit();
      expect(await plane.until(id, 'TERMINATED')).toMatchObject({ result: 'success', attempt: 1 });
      await eventually('the step died', () => broke === before + 1); // its answer may be lost after the end was seen
      await plane.settled();
    });
  }
}
