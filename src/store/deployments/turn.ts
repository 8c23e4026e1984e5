import type { Runner } from '../database.js';
import type { DeploymentStore } from '../deployment-store.js';
import { sql } from '../sql.js';
import { commitTurn } from './commit-turn.js';
import { lockDeployment } from './lock-deployment.js';
import { readSnapshot } from './read-snapshot.js';
import { noteServing } from './write-replicas.js';

type Decide = Parameters<DeploymentStore['turn']>[1];
type SealApiKey = Parameters<DeploymentStore['turn']>[2];
type Outcome = Awaited<ReturnType<DeploymentStore['turn']>>['outcome'];

/** Of one that is not open: it ended, or there never was one. */
export async function outcomeWithoutLock(tx: Runner, deploymentId: string): Promise<'ended' | 'missing'> {
  return (await tx.first(sql`SELECT 1 FROM deployments WHERE id = ${deploymentId}`)) === undefined
    ? 'missing'
    : 'ended';
}

/** The lock stands from before the snapshot to the commit: whatever else changes the deployment comes before or after it. */
export async function turn(
  tx: Runner,
  deploymentId: string,
  { decide, sealApiKey }: { readonly decide: Decide; readonly sealApiKey: SealApiKey },
): Promise<Outcome> {
  const locked = await lockDeployment(tx, deploymentId);
  if (locked === undefined) return outcomeWithoutLock(tx, deploymentId);
  await noteServing(tx, locked.id);
  const snapshot = await readSnapshot(tx, locked.id);
  if (snapshot === null) return 'missing';
  return commitTurn(tx, { snapshot, turn: decide(snapshot), sealApiKey });
}
