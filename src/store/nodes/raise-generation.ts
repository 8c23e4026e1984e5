import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/**
 * Nodes or devices of the group changed: plans made before are refused, and what was cached of the nodes is read again.
 * Called before the node's own rows are locked: the order of a commit.
 */
export async function raiseGeneration(tx: Runner, group: string): Promise<void> {
  await tx.run(
    sql`UPDATE resource_groups SET generation = generation + 1, nodes_version = nodes_version + 1 WHERE name = ${group}`,
  );
}
