import type { Plan, Snapshot } from '../contract/index.js';
import { skippedReason } from '../scheduler/skipped-reason.js';
import { formatSeconds } from './format-amounts.js';

type Named = ReadonlyMap<string, string>;

/**
 * A plan for people: one line a session in queue order, then who is stopped for whom, what is kept for whom and from when on,
 * who ends, and which nodes drain, each with its reason.
 */
export function planText(plan: Plan, snapshot: Snapshot): string {
  const names: Named = new Map([...snapshot.pending, ...snapshot.running].map(({ id, name }) => [id, name]));
  const lines = snapshot.pending.map((session) => `${session.name}  ${decisionText(plan, snapshot, session)}`);
  return [
    `group ${plan.group}, generation ${plan.generation}, at ${plan.now}`,
    ...[...lines, ...stopLines(plan, names), ...holdLines(plan, names), ...reservationLines(plan, names)].map(indented),
    ...nodeLines(plan).map(indented),
    sums(plan),
    ...(plan.nextWakeAt === null ? [] : [`next wake at ${plan.nextWakeAt}`]),
  ].join('\n');
}

const indented = (line: string): string => `  ${line}`;
const nameOf = (names: Named, id: string): string => names.get(id) ?? id;

function decisionText(plan: Plan, snapshot: Snapshot, session: Snapshot['pending'][number]): string {
  const placed = plan.placed.find(({ sessionId }) => sessionId === session.id);
  if (placed !== undefined) return `placed  ${roomText(placed.kernels)}  (${placed.explanation})`;
  const end = plan.ends.find(({ sessionId }) => sessionId === session.id);
  if (end !== undefined) return `ends  ${end.state}, ${end.cause}: ${end.message}`;
  const waiting = plan.waiting.find(({ sessionId }) => sessionId === session.id);
  if (waiting !== undefined) return `waiting  ${waiting.reason}: ${waiting.message}${waitingText(waiting)}`;
  const blocking = snapshot.pending.find(({ id }) => id === plan.blockedBy);
  const skipped = skippedReason(plan, session, blocking);
  return skipped === null ? 'not considered' : `${skipped.message}`;
}

const roomText = (kernels: Plan['placed'][number]['kernels']): string =>
  kernels.map(({ node, deviceIds }) => [node, ...deviceIds].join(' ')).join('; ');

/** By when it starts, and what waiting at the head has cost it. */
function waitingText({ expectedStart, decay }: Plan['waiting'][number]): string {
  const start = expectedStart.at === null ? '' : `; starts by ${expectedStart.at} (${expectedStart.basis})`;
  return `${start}${decay === null ? '' : `; priority ${decay.priority}, tried ${decay.tries} times since it fell`}`;
}

const stopLines = ({ stops }: Plan, names: Named): readonly string[] =>
  stops.map(({ sessionId, cause, forSessionId, then, graceSeconds, breaksMinRuntime, message }) => {
    const whom = forSessionId === null ? '' : ` for ${nameOf(names, forSessionId)}`;
    const next = then === 'requeue' ? 'back to the queue' : 'ends';
    const broken = breaksMinRuntime ? ', within its minimum runtime' : '';
    return `${nameOf(names, sessionId)}  stopped  ${cause}${whom}${broken}, ${formatSeconds(graceSeconds)} of grace, then ${next}: ${message}`;
  });

const holdLines = ({ holds, droppedHolds }: Plan, names: Named): readonly string[] => [
  ...holds.map(({ sessionId, victims, kernels }) => {
    const leaving = victims.map((id) => nameOf(names, id)).join(', ');
    return `${nameOf(names, sessionId)}  kept  ${roomText(kernels)}, until those leave: ${leaving}`;
  }),
  ...droppedHolds.map((id) => `${nameOf(names, id)}  given up  the room that was kept for it`),
];

const reservationLines = ({ reservations }: Plan, names: Named): readonly string[] =>
  reservations.map(({ sessionId, at, until, basis, kernels }) => {
    const end = until === null ? 'without a known end' : `until ${until}`;
    return `${nameOf(names, sessionId)}  reserved  ${roomText(kernels)}, from ${at} ${end} (${basis})`;
  });

const nodeLines = ({ drains, drained }: Plan): readonly string[] => [
  ...drains.map(({ node, message }) => `node ${node}  drains  ${message}`),
  ...drained.map((node) => `node ${node}  drained  it holds nothing more`),
];

function sums({ placed, waiting, skipped, stops, holds, reservations, ends }: Plan): string {
  const optional = [
    [stops.length, 'stopped'],
    [holds.length, 'kept'],
    [reservations.length, 'reserved'],
    [ends.length, 'ended'],
  ] as const;
  const more = optional.filter(([count]) => count > 0).map(([count, what]) => `, ${count} ${what}`);
  return `${placed.length} placed, ${waiting.length} waiting, ${skipped} skipped${more.join('')}`;
}
