import type { SnapshotRunning } from '../contract/snapshot.js';
import { noteDropped, noteStopped } from './guarantee-book.js';
import { indexOfNode } from './node-table.js';
import { occupyAll, vacateAll } from './preempt-search.js';
import type { Preemption, WhenLeft } from './preemption.js';
import type { Room } from './rooms.js';

/**
 * Takes in what the pass decided since the last look. A dropped hold gives room back: what was looked for in vain may be
 * found then. What a gang leaves beyond what it was stopped for is seen by those who ask for the first time; by
 * others in the next pass.
 */
export function catchUp(preemption: Preemption): void {
  const { pass, book, inVain, offers } = preemption;
  const hasStops = pass.stops.length > preemption.seenStops;
  const stopped = takeInStops(preemption);
  const dropped = pass.droppedHolds.slice(preemption.seenDrops);
  // Who got other room since is counted with that.
  const placed = new Set<string>(dropped.length === 0 ? [] : pass.placed.map(({ sessionId }) => sessionId));
  for (const sessionId of dropped) {
    if (book !== null && !placed.has(sessionId) && !pass.heldRooms.has(sessionId)) noteDropped(book, sessionId);
  }
  if (dropped.length > 0) inVain.clear();
  // Whom a guaranteed project still lends depends on who of it was told to end.
  if (dropped.length > 0 || (hasStops && book !== null)) offers.clear();
  if (dropped.length > 0) preemption.whenLeft = undefined;
  takeInRooms(preemption, stopped);
  preemption.seenStops = pass.stops.length;
  preemption.seenDrops = pass.droppedHolds.length;
  preemption.seenPlaced = pass.placed.length;
}

/** Those of them that were not known to end. */
function takeInStops({ pass, book, leaving, byId, seenStops }: Preemption): readonly SnapshotRunning[] {
  const stopped: SnapshotRunning[] = [];
  for (const { sessionId } of pass.stops.slice(seenStops)) {
    const session = byId.get(sessionId);
    if (session === undefined || leaving.has(sessionId)) continue;
    leaving.set(sessionId, session);
    stopped.push(session);
    if (book !== null) noteStopped(book, session);
  }
  return stopped;
}

/** The kept tables follow the pass. Who entered his held room had it in them before. */
function takeInRooms({ pass, offers, whenLeft, seenPlaced, lastHolder }: Preemption, stopped: readonly Roomed[]): void {
  if (whenLeft === undefined) return;
  const { ranking, holders } = whenLeft;
  const gone = stopped.map((session) => ({ session }));
  vacateAll(ranking, gone);
  const newcomers = pass.placed.slice(seenPlaced).filter(({ sessionId }) => !holders.delete(sessionId));
  const placed = newcomers.map((session) => ({ session }));
  occupyAll(ranking, placed);
  if (placed.length > 0) for (const { ceiling } of offers.values()) occupyAll(ceiling, placed);
  const hold = lastHolder === null || holders.has(lastHolder) ? undefined : pass.heldRooms.get(lastHolder);
  if (hold !== undefined) {
    holders.add(lastHolder as string);
    occupyAll(ranking, [{ session: hold }]);
  }
  noteChanges(whenLeft, [...stopped, ...newcomers, ...(hold === undefined ? [] : [hold])]);
}

type Roomed = Pick<SnapshotRunning, 'kernels'>;

function noteChanges({ ranking, changes }: WhenLeft, sessions: readonly { readonly kernels: readonly Room[] }[]): void {
  for (const { kernels } of sessions) {
    for (const { node } of kernels) {
      const i = indexOfNode(ranking.table, node);
      if (i >= 0) changes[i] = (changes[i] as number) + 1;
    }
  }
}
