import type { EndCause, SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { raiseGeneration } from './raise-generation.js';

interface FailedStart {
  readonly id: SessionId;
  readonly failed_node: string | null;
  /** All nodes of the attempt. */
  readonly nodes: readonly string[];
  readonly message: string | null;
}
interface NodeRow {
  readonly name: string;
  readonly group_name: string;
  readonly cordoned: boolean;
  readonly failed_starts: readonly string[];
  readonly most: number;
}

/** Silence has its own rules; of a gang whose failing node is not known nobody is accused. */
const accused = ({ failed_node: failed, nodes }: FailedStart): string | null =>
  failed ?? (nodes.length === 1 ? (nodes[0] ?? null) : null);

/** Replicas of one deployment, and members of one pool, are one suspect: each try of a bad image is another session. */
async function suspectOf(tx: Runner, sessionId: SessionId): Promise<string> {
  const row = await tx.first<{ suspect: string }>(sql`
    SELECT coalesce((SELECT deployment_id FROM deployment_replicas WHERE session_id = ${sessionId}),
      (SELECT 'pool ' || pool FROM pool_members WHERE session_id = ${sessionId}), ${sessionId}) AS suspect`);
  return row?.suspect ?? sessionId;
}

/**
 * The platform failed a start: one more different session in a row for its node. At the group's limit the node is cordoned,
 * with the sessions as its reason: it would swallow one after the other. Called once an attempt.
 */
export async function noteFailedStart(tx: Runner, failed: FailedStart, cause: EndCause): Promise<void> {
  const name = accused(failed);
  if (name === null || cause === 'node-lost') return;
  const suspect = await suspectOf(tx, failed.id);
  const node = await tx.first<NodeRow>(sql`
    UPDATE nodes n SET failed_starts = n.failed_starts || to_jsonb(${suspect}::text)
    FROM resource_groups g WHERE n.name = ${name} AND g.name = n.group_name AND NOT n.failed_starts ? ${suspect}::text
    RETURNING n.name, n.group_name, n.cordoned, n.failed_starts, (g.policy->>'blackHoleFailures')::int AS most`);
  if (node === undefined || node.cordoned || node.most === 0 || node.failed_starts.length < node.most) return;
  const last = `the last by ${cause}${failed.message === null ? '' : `: ${failed.message}`}`;
  const reason = `the starts of ${node.failed_starts.length} sessions in a row failed here: ${node.failed_starts.join(', ')}; ${last}`;
  await raiseGeneration(tx, node.group_name);
  await tx.run(sql`UPDATE nodes SET cordoned = true, cordon_reason = ${reason} WHERE name = ${name}`);
}

/** A start that works takes all blame off its nodes. */
export async function forgiveNodes(tx: Runner, sessionId: SessionId, attempt: number): Promise<void> {
  await tx.run(sql`
    UPDATE nodes SET failed_starts = '[]' WHERE failed_starts <> '[]' AND name IN (
      SELECT node FROM reservations WHERE session_id = ${sessionId} AND attempt = ${attempt})`);
}
