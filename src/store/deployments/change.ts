import type { Deployment } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { DeploymentProblem } from '../deployment-store.js';
import { sql } from '../sql.js';
import { recordDeploymentEvent } from './deployment-events.js';
import { lockDeployment, markChanged } from './lock-deployment.js';
import { findDeployment, readDeployment } from './read-deployments.js';
import { refreshState } from './refresh-state.js';

/** Under its lock, where it is there and is not ending. `change` answers a problem, and then wrote nothing. */
export async function changeOpen(
  tx: Runner,
  reference: string,
  change: (deploymentId: string) => Promise<DeploymentProblem | null>,
): Promise<Deployment | DeploymentProblem> {
  const locked = await lockDeployment(tx, reference);
  if (locked === undefined) return { problem: 'missing' };
  if (locked.isEnding) return { problem: 'ending' };
  const problem = await change(locked.id);
  return problem ?? (await readDeployment(tx, locked.id)) ?? { problem: 'missing' };
}

/** The owner's count; who asked for one needs no wake any more. */
export const scale = (
  tx: Runner,
  reference: string,
  { replicas, actor }: { readonly replicas: number; readonly actor: string },
): Promise<Deployment | DeploymentProblem> =>
  changeOpen(tx, reference, async (deploymentId) => {
    const changed = await tx.first<{ was: number }>(sql`
      UPDATE deployments d SET wanted = ${replicas}, wake_asked_at = CASE WHEN ${replicas}::int = 0 THEN d.wake_asked_at END
      FROM (SELECT id, wanted AS was FROM deployments) o WHERE d.id = ${deploymentId} AND o.id = d.id AND d.wanted <> ${replicas} RETURNING o.was`);
    if (changed === undefined) return null;
    const message = `wanted ${changed.was} → ${replicas}, by hand`;
    const data = { from: changed.was, to: replicas };
    await recordDeploymentEvent(tx, { deploymentId, kind: 'scaled', message, data, actor });
    await markChanged(tx, deploymentId);
    await refreshState(tx, deploymentId);
    return null;
  });

/** Its replicas leave the route here and now; they drain, end, and it is over with the last. Once more it answers the same. */
export async function end(tx: Runner, reference: string, actor: string): Promise<Deployment | null> {
  const locked = await lockDeployment(tx, reference);
  if (locked === undefined) return findDeployment(tx, reference, { projects: null });
  if (!locked.isEnding) {
    const { id: deploymentId } = locked;
    await tx.run(sql`
      UPDATE deployments SET ending_at = now(), rollout = NULL, rollout_started_at = NULL, rollout_message = '', weights = '[]',
        wake_asked_at = NULL, retry_at = NULL WHERE id = ${deploymentId}`);
    await tx.run(sql`
      UPDATE deployment_replicas SET draining_at = clock_timestamp(), drain_why = 'ending'
      WHERE deployment_id = ${deploymentId} AND closed_at IS NULL AND draining_at IS NULL`);
    const message = 'off its endpoint; its replicas drain and end';
    await recordDeploymentEvent(tx, { deploymentId, kind: 'ending', message, actor });
    await markChanged(tx, deploymentId);
    await refreshState(tx, deploymentId);
  }
  return readDeployment(tx, locked.id);
}
