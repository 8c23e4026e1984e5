import type { Plan, Snapshot } from '../contract/index.js';
import { skippedReason } from '../scheduler/skipped-reason.js';

/** A plan for people: one line a session in queue order, then who blocks the queue. */
export function planText(plan: Plan, snapshot: Snapshot): string {
  const lines = snapshot.pending.map((session) => `${session.name}  ${decisionText(plan, snapshot, session)}`);
  const head = `group ${plan.group}, generation ${plan.generation}, at ${plan.now}`;
  const sums = `${plan.placed.length} placed, ${plan.waiting.length} waiting, ${plan.skipped} skipped`;
  return [head, ...lines.map((line) => `  ${line}`), sums, ...wakeLine(plan)].join('\n');
}

function decisionText(plan: Plan, snapshot: Snapshot, session: Snapshot['pending'][number]): string {
  const placed = plan.placed.find(({ sessionId }) => sessionId === session.id);
  if (placed !== undefined) {
    const kernels = placed.kernels.map(({ node, deviceIds }) => [node, ...deviceIds].join(' '));
    return `placed  ${kernels.join('; ')}  (${placed.explanation})`;
  }
  const waiting = plan.waiting.find(({ sessionId }) => sessionId === session.id);
  if (waiting !== undefined) return `waiting  ${waiting.reason}: ${waiting.message}`;
  const blocking = snapshot.pending.find(({ id }) => id === plan.blockedBy);
  const skipped = skippedReason(plan, session, blocking);
  return skipped === null ? 'not considered' : `${skipped.message}`;
}

const wakeLine = ({ nextWakeAt }: Plan): readonly string[] =>
  nextWakeAt === null ? [] : [`next wake at ${nextWakeAt}`];
