import type { Node } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';
import type { NodeStore } from '../store.js';
import { drainFields, NO_DRAIN } from './drain.js';
import { nextMove } from './next-move.js';
import { raiseGeneration } from './raise-generation.js';
import { readNode } from './read-node.js';

type Move = Parameters<NodeStore['setMove']>[1];

const groupOf = async (tx: Runner, name: string): Promise<string | undefined> =>
  (
    await tx.first<{ group_name: string }>(
      sql`SELECT group_name FROM nodes WHERE name = ${name} AND removed_at IS NULL`,
    )
  )?.group_name;

/** Back to its own group a node moves only after a move away from it. */
async function refusalOf(tx: Runner, name: string, { toGroup, at, group }: Move & { readonly group: string }) {
  const known = await tx.first(sql`SELECT 1 FROM resource_groups WHERE name = ${toGroup}`);
  if (known === undefined) return 'no-group';
  if (toGroup !== group) return null;
  const away = await tx.first(sql`
    SELECT 1 FROM node_moves WHERE node = ${name} AND to_group <> ${toGroup} AND at < ${at}::timestamptz`);
  return away === undefined ? 'same-group' : null;
}

/** The drain of a move: one that a person began stays that person's, and outlives the move. */
export async function beginMoveDrain(tx: Runner, name: string, message: string): Promise<void> {
  const move = await tx.first<{ id: number; actor: string; deadline_seconds: number | null }>(sql`
    UPDATE node_moves SET started_at = coalesce(started_at, now())
    WHERE id = (SELECT m.id FROM nodes n CROSS JOIN LATERAL (${nextMove(sql`m.id`)}) m WHERE n.name = ${name})
    RETURNING id, actor, deadline_seconds`);
  if (move === undefined) return;
  const { id, actor, deadline_seconds: deadlineSeconds } = move;
  await tx.run(sql`
    UPDATE nodes SET ${drainFields({ reason: message, actor, deadlineSeconds, move: id })}
    WHERE name = ${name} AND drain_since IS NULL`);
}

/** Ends a drain that a move began, of moves that are given up. */
async function forget(tx: Runner, name: string, which: Sql): Promise<void> {
  await tx.run(sql`
    UPDATE nodes SET ${NO_DRAIN}
    WHERE name = ${name} AND drain_move IN (SELECT id FROM node_moves m WHERE m.node = ${name} AND ${which})`);
  await tx.run(sql`DELETE FROM node_moves m WHERE m.node = ${name} AND ${which}`);
}

export async function setMove(
  tx: Runner,
  name: string,
  move: Move & { readonly actor: string },
): ReturnType<NodeStore['setMove']> {
  const group = await groupOf(tx, name);
  if (group === undefined) return 'missing';
  const refusal = await refusalOf(tx, name, { ...move, group });
  if (refusal !== null) return refusal;
  await raiseGeneration(tx, group);
  await forget(tx, name, sql`m.to_group = ${move.toGroup}`);
  const made = await tx.first<{ due: boolean }>(sql`
    INSERT INTO node_moves (node, to_group, at, repeat, deadline_seconds, actor)
    VALUES (${name}, ${move.toGroup}, coalesce(${move.at}::timestamptz, now()), ${move.repeat}, ${move.deadlineSeconds}, ${move.actor})
    RETURNING ${move.at}::timestamptz IS NULL OR at <= now() AS due`);
  if (made?.due === true) await beginMoveDrain(tx, name, `it moves to the group ${move.toGroup}`);
  return (await readNode(tx, name)) ?? 'missing';
}

export async function cancelMove(tx: Runner, name: string): Promise<Node | null> {
  const group = await groupOf(tx, name);
  if (group === undefined) return null;
  await raiseGeneration(tx, group);
  await forget(tx, name, sql`true`);
  return readNode(tx, name);
}

interface DueMove {
  readonly id: number;
  readonly node: string;
  readonly from_group: string;
  readonly to_group: string;
}

/** A move that is done: `repeat` has its next moment, the first that is not past; any other is over. */
async function rearm(tx: Runner, id: number): Promise<void> {
  await tx.run(sql`DELETE FROM node_moves WHERE id = ${id} AND repeat = 'none'`);
  await tx.run(sql`
    UPDATE node_moves m SET started_at = NULL, at = m.at + s.step * ceil(greatest(extract(epoch FROM now() - m.at) / extract(epoch FROM s.step), 0) + 1e-9)
    FROM (SELECT CASE repeat WHEN 'daily' THEN interval '1 day' ELSE interval '7 days' END AS step FROM node_moves WHERE id = ${id}) s
    WHERE m.id = ${id}`);
}

/** Back where it is already: skipped, and comes again when it repeats. */
async function skipOwn(tx: Runner, group: string): Promise<void> {
  const own = await tx.rows<{ id: number }>(sql`
    SELECT m.id FROM node_moves m JOIN nodes n ON n.name = m.node
    WHERE n.group_name = ${group} AND m.to_group = n.group_name AND m.at < now() FOR UPDATE OF m`);
  for (const { id } of own) await rearm(tx, id);
}

/**
 * Nodes of the group that move and hold nothing more change their group; a drain that their move began ends. Answers the groups
 * that have a planner to kick, both of each move. Run again it finds nothing to do.
 */
export async function completeMoves(tx: Runner, group: string): Promise<readonly string[]> {
  await skipOwn(tx, group);
  const due = await tx.rows<DueMove>(sql`
    SELECT m.id, n.name AS node, n.group_name AS from_group, m.to_group
    FROM nodes n CROSS JOIN LATERAL (${nextMove(sql`m.*`)}) m
    WHERE n.group_name = ${group} AND n.removed_at IS NULL AND m.started_at IS NOT NULL AND n.drained_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM reservations r WHERE r.node = n.name AND r.released_at IS NULL)
    ORDER BY n.name`);
  if (due.length === 0) return [];
  const groups = [...new Set(due.flatMap((move) => [move.from_group, move.to_group]))].toSorted();
  for (const name of groups) await raiseGeneration(tx, name);
  for (const { id, node, to_group: to } of due) {
    await tx.run(sql`UPDATE nodes SET group_name = ${to} WHERE name = ${node}`);
    await tx.run(sql`UPDATE nodes SET ${NO_DRAIN} WHERE name = ${node} AND drain_move = ${id}::bigint`);
    await rearm(tx, id);
  }
  return groups;
}
