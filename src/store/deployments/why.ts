import type { Deployment, DeploymentWhy } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { ModelScope } from '../model-store.js';
import { newestEvents } from './deployment-events.js';
import { findDeployment } from './read-deployments.js';

const EVENTS = 20;

type Action = DeploymentWhy['actions'][number];

const serves = ({ route, health }: Deployment['replicas'][number]): boolean =>
  route === 'ACTIVE' && health === 'healthy';

/** What its owner can do about it, the likeliest first. */
function actionsOf({
  name,
  state,
  rollout,
  replicas,
  failuresInARow,
  replicasWanted,
  currentRevision,
}: Deployment): Action[] {
  const actions: Action[] = [];
  if (rollout?.waitsForPromotion === true)
    actions.push({ title: 'promote the step that waits', command: `berth deploy rollout promote ${name}` });
  if (rollout?.paused === true)
    actions.push({ title: 'go on with the rollout', command: `berth deploy rollout resume ${name}` });
  if (rollout !== null && currentRevision !== null && failuresInARow > 0)
    actions.push({ title: `go back to revision ${currentRevision}`, command: `berth deploy rollout undo ${name}` });
  const waiting = replicas.find(({ route }) => route === 'PROVISIONING');
  if (waiting !== undefined)
    actions.push({ title: 'see what a replica waits for', command: `berth why ${waiting.sessionId}` });
  const failing = replicas.find((replica) => replica.route !== 'PROVISIONING' && !serves(replica));
  if (failing !== undefined)
    actions.push({ title: 'read what a replica says', command: `berth logs ${failing.sessionId}` });
  if (state === 'IDLE' && replicasWanted === 0)
    actions.push({ title: 'ask for a replica', command: `berth deploy scale ${name} 1` });
  return actions;
}

export async function readWhy(tx: Runner, reference: string, scope: ModelScope): Promise<DeploymentWhy | null> {
  const deployment = await findDeployment(tx, reference, scope);
  if (deployment === null) return null;
  const { name, state, message, rollout, lastDecision, retryAt, replicas } = deployment;
  return {
    name,
    state,
    message,
    replicas: replicas.map((replica) => ({
      sessionId: replica.sessionId,
      revision: replica.revision,
      route: replica.route,
      health: replica.health,
      message: replica.message ?? (serves(replica) ? 'it serves' : ''),
    })),
    rollout,
    lastDecision,
    retryAt,
    actions: actionsOf(deployment),
    events: await newestEvents(tx, deployment.id, EVENTS),
    evaluatedAt: new Date().toISOString(),
  };
}
