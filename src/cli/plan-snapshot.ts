import { type Plan, type Snapshot, snapshotSchema } from '../contract/index.js';
import { planPass } from '../scheduler/plan-pass.js';
import { usageError } from './cli-error.js';

export interface Planned {
  readonly plan: Plan;
  readonly snapshot: Snapshot;
}

/** Throws a usage error that names every field that is wrong. `now` is the snapshot's own moment when omitted. */
export function planSnapshot(json: unknown, now: string | undefined): Planned {
  const parsed = snapshotSchema.safeParse(json);
  if (!parsed.success) {
    const wrong = parsed.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`);
    throw usageError(`this is no snapshot of the schema berth.snapshot/1: ${wrong.slice(0, 10).join('; ')}`);
  }
  const at = now === undefined ? parsed.data.takenAt : new Date(now).toISOString();
  return { plan: planPass(parsed.data, at), snapshot: parsed.data };
}
