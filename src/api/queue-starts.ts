import { type QueueEntry, REASONS, type Snapshot } from '../contract/index.js';
import { forecast, forecastInOrder } from '../scheduler/forecast.js';
import type { ApiDeps } from './deps.js';

/** Who is further back is told no start here, but by `why`: a look at all of a long queue would cost each reader a whole pass. */
export const STARTS_MAX = 100;
/** Of a page those who wait for a time of their own: each of them costs a look by itself. */
const HELD_MAX = 5;

const isInLine = ({ reason }: QueueEntry): boolean => REASONS[reason] === 'wait';
const isHeldForTime = ({ reason }: QueueEntry): boolean =>
  REASONS[reason] === 'retrying' || reason === 'scheduled_start';
const lacksStart = ({ expectedStart, position }: QueueEntry): boolean =>
  position <= STARTS_MAX && (expectedStart === null || expectedStart.at === null);

/**
 * Under fair share the last pass works out the start of few; the others of this page get the one that `why` tells them.
 * `position` counts from the head of the queue. The whole queue is read only where an entry lacks a start.
 */
export async function withStarts(
  { store: { planning } }: Pick<ApiDeps, 'store'>,
  group: string,
  items: readonly QueueEntry[],
): Promise<QueueEntry[]> {
  const lacking = items.filter(lacksStart);
  if (!lacking.some((entry) => isInLine(entry) || isHeldForTime(entry))) return [...items];
  const snapshot = await planning.snapshot(group);
  if (snapshot === null) return [...items];
  const starts = startsOf(snapshot, lacking);
  return items.map((entry) => ({ ...entry, expectedStart: starts.get(entry.sessionId) ?? entry.expectedStart }));
}

type Start = NonNullable<QueueEntry['expectedStart']>;

function startsOf(snapshot: Snapshot, lacking: readonly QueueEntry[]) {
  const inLine = lacking.filter(isInLine);
  const known: ReturnType<typeof forecastInOrder> =
    inLine.length === 0 ? new Map<string, Start>() : forecastInOrder(snapshot, snapshot.takenAt, STARTS_MAX);
  const starts = new Map<string, Start>();
  for (const { sessionId } of inLine) {
    const start = known.get(sessionId);
    if (start !== undefined) starts.set(sessionId, start);
  }
  for (const { sessionId } of lacking.filter(isHeldForTime).slice(0, HELD_MAX)) {
    const start = forecast(snapshot, sessionId, snapshot.takenAt);
    if (start !== null) starts.set(sessionId, start);
  }
  return starts;
}
