import type { SnapshotPending } from '../contract/snapshot.js';
import type { Backfill } from './backfill.js';
import type { Take } from './node-line.js';
import type { Pass } from './pass.js';
import { lengthsOf } from './runtime-bounds.js';
import { type Timeline, viewOf } from './timeline.js';

/** Nodes that a session has to leave alone. */
export interface PromisedNodes {
  /** Equal for the same nodes, within a pass. */
  readonly key: string;
  readonly names: ReadonlySet<string>;
}

/**
 * Under fair share: nodes on which others hold a claim that the session might move if it got room there when somebody was
 * stopped for it. It ends before the claim by its own bound, or by its minimum where the holder may stop it then; else the
 * node is left alone. null: there are none.
 */
export function promisedNodes({ fairShare, backfill }: Pass, session: SnapshotPending): PromisedNodes | null {
  if (fairShare === null || backfill === null || backfill.reservations.length === 0) return null;
  const { timeline } = backfill;
  const { claims, graceMs, byKey } = promisesIn(backfill);
  const { isSoft } = viewOf(timeline, session);
  const { maxMs, minMs } = lengthsOf(session);
  const fromMs = timeline.nowMs + graceMs;
  let key = '';
  let last = -1;
  for (const { index, take } of claims) {
    const stays = isSoft?.(take) ? minMs : maxMs;
    if (fromMs + stays <= take.fromMs || index === last) continue;
    key += `${index},`;
    last = index;
  }
  if (key === '') return null;
  let nodes = byKey.get(key);
  if (nodes === undefined) byKey.set(key, (nodes = nodesOf(key, timeline)));
  return nodes;
}

const nodesOf = (key: string, { lines }: Timeline): PromisedNodes => ({
  key,
  names: new Set(key.split(',').flatMap((index) => (index === '' ? [] : (lines[Number(index)]?.node.name ?? [])))),
});

interface Promises {
  /** What is taken for later on the nodes of reservations, node by node. */
  readonly claims: readonly { readonly index: number; readonly take: Take }[];
  /** Until those that are stopped for somebody have left, at the longest: of those who ran when the timeline was made. */
  readonly graceMs: number;
  readonly byKey: Map<string, PromisedNodes>;
  readonly asOf: number;
}

const KNOWN = new WeakMap<Backfill, Promises>();

function promisesIn(backfill: Backfill): Promises {
  const { timeline, reservations } = backfill;
  const known = KNOWN.get(backfill);
  if (known !== undefined && known.asOf === timeline.claimsVersion) return known;
  const places = reservations.flatMap(({ kernels }) => kernels.map(({ node }) => timeline.indexOf.get(node) ?? -1));
  const promises = {
    claims: [...new Set(places)]
      .toSorted((a, b) => a - b)
      .flatMap((index) => claimsOn(timeline, index).map((take) => ({ index, take }))),
    graceMs: known?.graceMs ?? longestGraceMs(timeline),
    byKey: known?.byKey ?? new Map<string, PromisedNodes>(),
    asOf: timeline.claimsVersion,
  };
  KNOWN.set(backfill, promises);
  return promises;
}

const claimsOn = ({ lines, nowMs }: Timeline, index: number): readonly Take[] =>
  (lines[index]?.takes ?? []).filter(({ fromMs }) => fromMs > nowMs);

function longestGraceMs({ running }: Timeline): number {
  let longest = 0;
  for (const { gracePeriodSeconds } of running) longest = Math.max(longest, gracePeriodSeconds * 1000);
  return longest;
}
