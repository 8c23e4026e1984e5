import type { ExpectedStart } from '../contract/why.js';
import type { Told } from './consider.js';
import { goneByMs, type HeldRoom } from './held-rooms.js';
import { timestampOf } from './moments.js';

/** Room is kept for it: who has yet to leave, and when the last of them will have; no moment that has passed is promised. */
export function waitingForVictims(held: HeldRoom, nowMs: number): Told {
  const lastMs = goneByMs(held);
  const names = held.victims.map(({ name }) => name);
  const shown = names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
  const expectedStart: ExpectedStart =
    lastMs === null || lastMs <= nowMs
      ? {
          at: null,
          basis: `unknown, because ${shown} was to have left by ${lastMs === null ? 'now' : timestampOf(lastMs)}`,
        }
      : { at: timestampOf(lastMs), basis: `${shown} will have left by then, the grace period included` };
  return {
    reason: 'waiting_for_victims',
    message: `room is kept for it; ${shown} ${names.length > 1 ? 'have' : 'has'} yet to leave it`,
    blockers: held.victims.map(({ id }) => ({
      kind: 'session',
      scope: 'session',
      name: id,
      resource: null,
      need: null,
      used: null,
      limit: null,
    })),
    violations: [],
    nodes: null,
    expectedStart,
  };
}
