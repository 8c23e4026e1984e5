import type { QueueEntry } from '../contract/index.js';
import { formatUntil } from './format-amounts.js';

/** Told at most, below the queue: the first reservations are those that matter. */
const NOTES_MAX = 10;

/** What is reserved for whom from when on, and the basis of it: one line a reservation. */
export function queueNotes(items: readonly QueueEntry[], now: Date): readonly string[] {
  return items
    .filter(({ reservedNodes }) => reservedNodes.length > 0)
    .slice(0, NOTES_MAX)
    .map(({ name, reservedNodes, expectedStart }) => {
      const at = expectedStart?.at ?? null;
      const from = at === null ? '' : ` from ${at} (${formatUntil(at, now)}) on`;
      const basis = expectedStart === null || expectedStart.basis === '' ? '' : `: ${expectedStart.basis}`;
      return `reserved for ${name}: ${reservedNodes.join(', ')}${from}${basis}`;
    });
}
