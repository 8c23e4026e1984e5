import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { recordDeploymentEvent } from './deployment-events.js';

interface Moved {
  readonly was: string;
  readonly state: string;
  readonly serving: number;
  readonly wanted: number;
}

/** The state follows from the rows; that it changed is told here, once. A second run writes nothing. */
export async function refreshState(tx: Runner, deploymentId: string): Promise<void> {
  const moved = await tx.first<Moved>(sql`
    UPDATE deployments d SET told_state = c.state FROM (SELECT c.*, o.told_state AS was FROM deployment_counts c JOIN deployments o ON o.id = c.id) c
    WHERE d.id = ${deploymentId} AND c.id = d.id AND c.state <> d.told_state RETURNING c.was, c.state, c.serving, d.wanted`);
  if (moved === undefined) return;
  const { was, state, serving, wanted } = moved;
  const message = `${was} → ${state}: ${serving} of ${wanted} serve`;
  const data = { from: was, to: state, serving, wanted };
  await recordDeploymentEvent(tx, { deploymentId, kind: 'state', message, data, actor: 'berth' });
}
