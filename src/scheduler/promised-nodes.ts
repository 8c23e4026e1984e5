import type { SnapshotPending } from '../contract/snapshot.js';
import type { Pass } from './pass.js';
import { lengthsOf } from './runtime-bounds.js';
import { type Timeline, viewOf } from './timeline.js';

/**
 * Under fair share: nodes on which others hold a claim that the session might move if it got room there when somebody was
 * stopped for it. It ends before the claim by its own bound, or by its minimum where the holder may stop it then; else the
 * node is left alone. null: there are none.
 */
export function promisedNodes({ fairShare, backfill }: Pass, session: SnapshotPending): ReadonlySet<string> | null {
  if (fairShare === null || backfill === null || backfill.reservations.length === 0) return null;
  const { timeline, reservations } = backfill;
  const { isSoft } = viewOf(timeline, session);
  const { maxMs, minMs } = lengthsOf(session);
  const closed = new Set<string>();
  for (const { kernels } of reservations) {
    for (const { node } of kernels) {
      const takes = timeline.lines[timeline.indexOf.get(node) ?? -1]?.takes ?? [];
      for (const take of takes) {
        if (take.fromMs <= timeline.nowMs) continue;
        const stays = isSoft?.(take) ? minMs : maxMs;
        if (timeline.nowMs + longestGraceMs(timeline) + stays > take.fromMs) closed.add(node);
      }
    }
  }
  return closed.size === 0 ? null : closed;
}

/** Until those that are stopped for it have left. */
function longestGraceMs(timeline: Timeline): number {
  const known = GRACES.get(timeline);
  if (known !== undefined) return known;
  let longest = 0;
  for (const { gracePeriodSeconds } of timeline.running) longest = Math.max(longest, gracePeriodSeconds * 1000);
  GRACES.set(timeline, longest);
  return longest;
}

/** Of those who ran when the timeline was made. */
const GRACES = new WeakMap<Timeline, number>();
