import type { Runner } from '../database.js';
import { markDirty } from '../planning/dirty.js';
import { type Sql, sql } from '../sql.js';

/** Of a group's policy: it orders by fair share. */
export const isFairShare = (policy: Sql): Sql => sql`coalesce(${policy}->>'order', 'fifo') = 'fair-share'`;

/** Plans of all groups that order by fair share were made from another tree: they are refused. In the order of a commit: groups first. */
export async function raiseFairShare(tx: Runner): Promise<readonly string[]> {
  const rows = await tx.rows<{ name: string }>(sql`
    UPDATE resource_groups g SET generation = generation + 1
    FROM (SELECT name FROM resource_groups WHERE ${isFairShare(sql`policy`)} ORDER BY name FOR NO KEY UPDATE) locked
    WHERE g.name = locked.name RETURNING g.name`);
  return rows.map(({ name }) => name).toSorted();
}

/** After the commit, each in its own transaction. Those whose flag this turned on are to be kicked. */
export async function turnOn(db: Runner, groups: readonly string[]): Promise<readonly string[]> {
  const kicks: string[] = [];
  for (const group of groups) if (await markDirty(db, group, false)) kicks.push(group);
  return kicks;
}
