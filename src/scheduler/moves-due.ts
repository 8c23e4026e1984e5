import type { Snapshot, SnapshotNode, SnapshotRunning } from '../contract/snapshot.js';
import { msOf, timestampOf } from './moments.js';

/** For what comes after the grace period: the kill, the removal of the containers, the release, the move itself. */
const MARGIN_SECONDS = 30;

/**
 * When the drain for a move has to begin: the longest grace period of what it holds, and a margin, before the move. Work
 * that is still protected then leaves at the end of its minimum runtime; to begin earlier would not free it sooner.
 */
export function moveBegins(moveAt: string, graceSeconds: readonly number[]): number {
  return msOf(moveAt) - (Math.max(0, ...graceSeconds) + MARGIN_SECONDS) * 1000;
}

export interface Move {
  readonly node: string;
  readonly beginMs: number;
  readonly message: string;
}

/** Every move whose drain has not begun, by node name. */
export function movesOf({ nodes, running }: Pick<Snapshot, 'nodes' | 'running'>): readonly Move[] {
  const moving = nodes.filter(isMoving);
  if (moving.length === 0) return [];
  return moving.map(({ name, moveAt }) => {
    const held = running.filter((session) => isOn(session, name));
    const grace = held.map(({ gracePeriodSeconds }) => gracePeriodSeconds);
    const beginMs = moveBegins(moveAt, grace);
    const message =
      `node ${name} is to be empty by ${moveAt} for another group: it holds ${held.length} sessions, and the longest ` +
      `grace period is ${Math.max(0, ...grace)} s, so it drains from ${timestampOf(beginMs)} on`;
    return { node: name, beginMs, message };
  });
}

/** When those move that drain already: nothing has to begin for them, but the pass of that moment carries the move out. */
export const movesOfDraining = ({ nodes }: Pick<Snapshot, 'nodes'>): readonly number[] =>
  nodes.flatMap(({ moveAt, drain }) => (moveAt === null || drain === null ? [] : [msOf(moveAt)]));

type Moving = SnapshotNode & { readonly moveAt: string };
const isMoving = (node: SnapshotNode): node is Moving => node.moveAt !== null && node.drain === null;
const isOn = ({ kernels }: SnapshotRunning, name: string): boolean => kernels.some(({ node }) => node === name);
