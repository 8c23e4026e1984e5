import type { PassRecord } from '../contract/pass-record.js';
import type { Plan } from '../contract/plan.js';
import { planPass } from '../scheduler/plan-pass.js';

/** Where a plan is not what it was. `at` is a path such as `placed.0.kernels.1.node`; null: there is nothing. */
export interface Difference {
  readonly at: string;
  readonly recorded: unknown;
  readonly replayed: unknown;
}

/** Plans the pass again from what it was planned from. null: every part of the plan is as it was, its texts too. */
export const replayPass = ({ snapshot, now, plan }: PassRecord, read: (plan: Plan) => Plan): Difference | null =>
  firstDifference(plan, read(planPass(snapshot, now)), '');

function firstDifference(recorded: unknown, replayed: unknown, at: string): Difference | null {
  if (recorded === replayed) return null;
  if (!isObject(recorded) || !isObject(replayed)) return { at, recorded, replayed };
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(replayed)])) {
    const below = at === '' ? key : `${at}.${key}`;
    const found = firstDifference(recorded[key] ?? null, replayed[key] ?? null, below);
    if (found !== null) return found;
  }
  return null;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
