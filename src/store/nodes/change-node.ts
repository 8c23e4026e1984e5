import type { Node } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';
import { raiseGeneration } from './raise-generation.js';
import { readNode } from './read-node.js';

/**
 * Changes what holds of a node, with the generation of its group, in the order of a commit: the group's row first. `unless`
 * says of `nodes` that nothing would change: then nothing is written. Its state follows by itself. Null: no such node.
 */
export async function changeNode(
  tx: Runner,
  name: string,
  { set, unless }: { readonly set: Sql; readonly unless: Sql },
): Promise<{ readonly changed: boolean; readonly node: Node } | null> {
  const row = await tx.first<{ group_name: string; done: boolean }>(
    sql`SELECT group_name, coalesce(${unless}, false) AS done FROM nodes WHERE name = ${name} AND removed_at IS NULL`,
  );
  if (row === undefined) return null;
  if (!row.done) {
    await raiseGeneration(tx, row.group_name);
    await tx.run(sql`UPDATE nodes SET ${set} WHERE name = ${name} AND removed_at IS NULL`);
  }
  const node = await readNode(tx, name);
  return node === null ? null : { changed: !row.done, node };
}
