import type { StopOrder } from '../../src/contract/plan.js';
import type { Snapshot, SnapshotPending, SnapshotRunning } from '../../src/contract/snapshot.js';
import { demandOf } from '../../src/scheduler/demand.js';
import { keepRoom } from '../../src/scheduler/held-rooms.js';
import { nodeTable } from '../../src/scheduler/node-table.js';
import { place } from '../../src/scheduler/place.js';
import { planVictims } from '../../src/scheduler/plan-victims.js';
import {
  type NoVictims,
  type PassSoFar,
  type Preemption,
  preemptionOf,
  type Victims,
} from '../../src/scheduler/preemption.js';
import { type Ranking, rankingOf } from '../../src/scheduler/ranking.js';
import { vacate } from '../../src/scheduler/rooms.js';
import { NOW } from './build.js';

export const preemptionPolicy = (
  change: Partial<Snapshot['group']['policy']['preemption']> = {},
): Snapshot['group']['policy']['preemption'] => ({
  enabled: true,
  mode: 'requeue',
  scope: 'group',
  order: 'newest',
  ...change,
});

export interface Pass {
  readonly ranking: Ranking;
  readonly stops: StopOrder[];
  readonly droppedHolds: string[];
  readonly placed: PassSoFar['placed'];
  readonly heldRooms: Map<string, ReturnType<typeof keepRoom>>;
}

/** What is left now, with the room of all holds kept, as a pass begins. */
export function passOf(snapshot: Snapshot): Pass {
  const { nodes, running, holds } = snapshot;
  const { policy } = snapshot.group;
  const ranking = rankingOf(nodeTable(nodes, 'now', policy), policy, { atMs: Date.parse(NOW), running });
  const byId = new Map(running.map((session) => [session.id as string, session]));
  const heldRooms = new Map(holds.map((hold) => [hold.sessionId as string, keepRoom(ranking, hold, byId)]));
  return { ranking, stops: [], droppedHolds: [], placed: [], heldRooms };
}

/** Asks for victims and carries the answer out, as a pass does. */
export function ask(preemption: Preemption, pass: Pass, session: SnapshotPending): Victims | NoVictims {
  const answer = planVictims(preemption, session);
  if ('none' in answer) return answer;
  pass.stops.push(...answer.stops);
  pass.heldRooms.set(session.id, keepRoom(pass.ranking, answer.hold, preemption.byId));
  return answer;
}

/** One question to a snapshot. */
export function victimsFor(snapshot: Snapshot, session: SnapshotPending): Victims | NoVictims {
  const pass = passOf(snapshot);
  return ask(preemptionOf(snapshot, NOW, pass), pass, session);
}

export const names = (answer: Victims | NoVictims, snapshot: Snapshot): string[] =>
  'none' in answer
    ? []
    : answer.stops.map((stop) => snapshot.running.find(({ id }) => id === stop.sessionId)?.name ?? '?').toSorted();

/** Whether the session fits when those are gone: placed anew on a table of its own. */
export function fitsWithout(snapshot: Snapshot, session: SnapshotPending, gone: readonly SnapshotRunning[]): boolean {
  const { ranking } = passOf(snapshot);
  for (const { kernels } of gone) for (const room of kernels) vacate(ranking, room);
  return typeof place(ranking, demandOf(session)) !== 'string';
}
