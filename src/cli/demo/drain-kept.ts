import type { DrainPlan, SessionEvent } from '../../contract/index.js';
import { CliError } from '../cli-error.js';
import type { DemoOptions } from './demo-options.js';
import { isState, nothingInUse } from './expectations.js';
import type { Stage } from './stage.js';

/** Between the announced moment and the last container's end: the engine takes its time to remove one. */
const LATE_SECONDS_MAX = 5;

/** A drain tells when the node will be empty, and it is: free work leaves at once, charged work after its minimum runtime. Taken back at the end. */
export async function drainKept(
  options: DemoOptions,
  stage: Stage,
  labels: { readonly filler: string; readonly charged: string },
): Promise<void> {
  const { admin, group } = options;
  const [node] = await admin.nodes.list({ group }).toArray();
  if (node === undefined) throw new Error(`group ${group} has no node`);
  try {
    const plan = await admin.nodes.drain(node.name, { reason: 'the demonstration' });
    for (const line of announcement(plan)) options.say(line);
    await stage.until('the drain: free work leaves at once, charged work stays for its minimum runtime', [
      isState(labels.filler, 'PENDING'),
      isState(labels.charged, 'RUNNING'),
    ]);
    await stage.until('its minimum runtime is over: it leaves too, and the node is empty', [
      isState(labels.filler, 'PENDING'),
      isState(labels.charged, 'PENDING'),
      nothingInUse,
    ]);
    const kept = keptTimes(plan, await stage.history(labels.charged));
    stage.note('drain', { announced: plan, ...kept });
    options.say(
      `  announced: empty at ${clock(kept.announcedAt)}; told to leave at ${clock(kept.toldAt)}, empty at ${clock(kept.emptyAt)}`,
    );
  } finally {
    await admin.nodes.uncordon(node.name);
  }
}

const clock = (iso: string): string => iso.slice(11, 21);

const announcement = ({ node, emptyAt, stops }: DrainPlan): readonly string[] => [
  `the node ${node} is drained: it will be empty at ${emptyAt === null ? 'once' : clock(emptyAt)}`,
  ...stops.map(({ name, stopAt, because }) => `  ${name} leaves at ${clock(stopAt)}: ${because}`),
];

interface Kept {
  readonly announcedAt: string;
  readonly toldAt: string;
  readonly emptyAt: string;
}

/** Not before the end of the minimum runtime, and not after the announced moment but for what a removal takes. Throws with what was seen. */
export function keptTimes(plan: DrainPlan, events: readonly SessionEvent[]): Kept {
  const state = (to: string): SessionEvent | undefined =>
    events.findLast((event) => event.kind === 'state' && event.to === to);
  const toldAt = state('PREEMPTING')?.at;
  const emptyAt = state('PENDING')?.at;
  const last = plan.stops.toSorted((a, b) => Date.parse(a.stopAt) - Date.parse(b.stopAt)).at(-1);
  if (toldAt === undefined || emptyAt === undefined || plan.emptyAt === null || last === undefined) {
    throw new CliError('expected: a drain that stops the charged session; seen: none in its history');
  }
  const early = (Date.parse(last.stopAt) - Date.parse(toldAt)) / 1000;
  const late = (Date.parse(emptyAt) - Date.parse(plan.emptyAt)) / 1000;
  if (early > 0 || late > LATE_SECONDS_MAX) {
    throw new CliError(
      `expected: told at ${last.stopAt} or later, empty by ${plan.emptyAt} (+ ${LATE_SECONDS_MAX} s); seen: told at ${toldAt}, empty at ${emptyAt}`,
    );
  }
  return { announcedAt: plan.emptyAt, toldAt, emptyAt };
}
