import type { LaunchOrder, SessionId } from '../../src/contract/index.js';
import type { DeploymentWork } from '../../src/store/deployment-store.js';
import { replicaSession } from '../../src/submit/replica-session.js';
import { startSubmission } from '../../src/submit/start-submission.js';
import type { ControlDependencies } from './dependencies.js';
import { deliver } from './kick.js';

/** So many submissions wait for their admission at once. */
const SLICE = 20;
/** The rest is done in the next call: an activity has 10 s. */
const ENOUGH_MS = 4_000;
const ADMISSION_WAIT_MS = 3_000;

interface Secrets {
  readonly environment: LaunchOrder['environment'];
  readonly registryCredentials: LaunchOrder['registryCredentials'];
}

/**
 * Submits the sessions that a deployment lacks, as the API submits one, and stops those that are drained. Their ids stand in the
 * ledger before: run again it goes on with those that are not known yet, and a second submission under an id is the first.
 */
export async function deploymentWork(
  dependencies: ControlDependencies,
  deploymentId: string,
): Promise<{ more: boolean }> {
  const { submit, stop, owner, deployment } = await dependencies.store.deployments.work(deploymentId);
  const until = performance.now() + ENOUGH_MS;
  const acts = [
    ...stop.map((one) => () => stopReplica(dependencies, deployment?.name ?? deploymentId, one)),
    ...(owner === null || deployment === null
      ? []
      : submit.map((replica) => () => submitReplica(dependencies, { deploymentId, deployment, owner }, replica))),
  ];
  let at = 0;
  let refused = 0;
  for (; at < acts.length && performance.now() < until; at += SLICE) {
    const done = await Promise.all(acts.slice(at, at + SLICE).map((act) => act()));
    refused += done.filter((outcome) => outcome === 'refused').length;
  }
  return { more: at < acts.length || refused > 0 };
}

interface Of {
  readonly deploymentId: string;
  readonly deployment: NonNullable<DeploymentWork['deployment']>;
  readonly owner: NonNullable<DeploymentWork['owner']>;
}

/** A refusal stands at the submission: the next turn finds it there, as a failure with its reason. */
async function submitReplica(
  dependencies: ControlDependencies,
  { deploymentId, deployment, owner }: Of,
  replica: DeploymentWork['submit'][number],
): Promise<string> {
  const { sessionId, revision } = replica;
  const { seal } = dependencies;
  const kept =
    replica.sealedSecrets === null
      ? { environment: {}, registryCredentials: null }
      : (seal.open(replica.sealedSecrets, `deployment/${deploymentId}/${revision}`) as Secrets);
  const key = replica.sealedApiKey === null ? null : (seal.open(replica.sealedApiKey, sessionId) as string);
  const environment = { ...kept.environment, ...(key === null ? {} : { VLLM_API_KEY: key }) };
  const names = Object.keys(environment);
  const secrets: Secrets = { environment, registryCredentials: kept.registryCredentials ?? null };
  const hasSecrets = names.length > 0 || secrets.registryCredentials !== null;
  const { outcome } = await startSubmission(
    dependencies,
    {
      sessionId,
      principal: owner,
      spec: replicaSession(replica, deployment, names),
      sealedSecrets: hasSecrets ? seal.seal(secrets, sessionId) : null,
      submittedAt: new Date().toISOString(),
    },
    ADMISSION_WAIT_MS,
  );
  dependencies.count('deployment_replicas_submitted', outcome === 'refused' ? 0 : 1);
  return outcome;
}

async function stopReplica(
  dependencies: ControlDependencies,
  name: string,
  { sessionId, graceMs, message }: DeploymentWork['stop'][number],
): Promise<string> {
  const asked = { cause: 'user-stop', actor: `deployment ${name}`, message, graceMs, force: false } as const;
  const stopped = await dependencies.store.sessions.requestStop({ sessionId, ...asked });
  if (stopped === null) return 'unknown'; // not admitted yet: asked again in a later turn
  await deliver(dependencies, [{ sessionId, kind: 'stop', attempt: stopped.attempt, graceMs }]);
  return 'stopped';
}

/** A replica's session runs, is told to leave, or has ended: its deployment looks at once. */
export async function kickDeploymentOf(
  dependencies: ControlDependencies,
  sessionId: SessionId | string,
): Promise<void> {
  const deploymentId = await dependencies.store.deployments.deploymentOf(sessionId);
  if (deploymentId !== null) await kickDeployments(dependencies, [deploymentId]);
}

/** One that is lost is made up for by the deployment's own net, and by the sweeper. */
export async function kickDeployments(
  { door, log }: Pick<ControlDependencies, 'door' | 'log'>,
  deploymentIds: readonly string[],
): Promise<void> {
  await Promise.all(
    deploymentIds.map((deploymentId) =>
      door
        .kickDeployment(deploymentId)
        .catch((error: unknown) => log.warn({ err: error, deploymentId }, 'a deployment was not kicked')),
    ),
  );
}
