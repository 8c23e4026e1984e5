import type { Node } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';
import type { NodeStore } from '../store.js';
import { changeNode } from './change-node.js';

export const NO_DRAIN = sql`drain_since = NULL, drain_deadline = NULL, drain_reason = NULL, drain_actor = NULL, drain_move = NULL,
  drained_at = CASE WHEN unhealthy_reason IS NULL THEN NULL ELSE drained_at END`;

const deadlineOf = (seconds: number | null): Sql =>
  seconds === null ? sql`NULL` : sql`now() + ${seconds}::float8 * interval '1 second'`;

/** The fields of a drain; one that is under way keeps its beginning, and what a pass has found of it. */
export const drainFields = (how: {
  readonly reason: string;
  readonly actor: string;
  readonly deadlineSeconds: number | null;
  readonly move: number | null;
}): Sql => sql`drain_since = coalesce(drain_since, now()), drain_reason = ${how.reason}, drain_actor = ${how.actor},
  drain_deadline = ${deadlineOf(how.deadlineSeconds)}, drain_move = ${how.move}::bigint`;

/** By hand: a drain that a move began is a person's from now on, and does not end with the move. */
export async function drain(tx: Runner, name: string, how: Parameters<NodeStore['drain']>[1]): Promise<Node | null> {
  const set = drainFields({ ...how, move: null });
  const changed = await changeNode(tx, name, { set, unless: sql`false` });
  return changed?.node ?? null;
}

/** Uncordon ends a drain too, but not that of a move; and what failed here before is forgiven, or it would be cordoned at once. */
export async function setCordon(
  tx: Runner,
  name: string,
  { cordoned, reason }: { readonly cordoned: boolean; readonly reason: string },
): Promise<Node | null> {
  const by = sql`drain_since IS NOT NULL AND drain_move IS NULL`;
  const ended = NO_DRAIN_BY_HAND(by);
  const changed = cordoned
    ? await changeNode(tx, name, { set: sql`cordoned = true, cordon_reason = ${reason}`, unless: sql`cordoned` })
    : await changeNode(tx, name, {
        set: sql`cordoned = false, cordon_reason = NULL, failed_starts = '[]', ${ended}`,
        unless: sql`NOT cordoned AND NOT (${by})`,
      });
  return changed?.node ?? null;
}

const NO_DRAIN_BY_HAND = (by: Sql): Sql => sql`
  drained_at = CASE WHEN ${by} AND unhealthy_reason IS NULL THEN NULL ELSE drained_at END,
  drain_deadline = CASE WHEN ${by} THEN NULL ELSE drain_deadline END, drain_reason = CASE WHEN ${by} THEN NULL ELSE drain_reason END,
  drain_actor = CASE WHEN ${by} THEN NULL ELSE drain_actor END, drain_since = CASE WHEN ${by} THEN NULL ELSE drain_since END`;
