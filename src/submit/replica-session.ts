import { type CreateSession, createSessionSchema } from '../contract/index.js';
import { commandOf, portOf } from '../deployments/preset-command.js';
import { replicaCheckOf } from '../deployments/replica-check.js';
import type { DeploymentWork } from '../store/deployment-store.js';

/** What tells a replica's session from others, for people and for `berth ps`. */
export const DEPLOYMENT_LABEL = 'berth.deployment';
/** The one port that the gateway sends requests to. */
const PORT_NAME = 'http';

type Replica = Pick<DeploymentWork['submit'][number], 'name' | 'template'>;
type Deployment = NonNullable<DeploymentWork['deployment']>;

/**
 * The session that one replica is. Its deployment replaces it, so it has one attempt; it runs until it is not wanted. The names
 * of its variables stand here, their values are sealed beside it.
 */
export function replicaSession(
  { name, template }: Replica,
  deployment: Deployment,
  environmentNames: readonly string[],
): CreateSession {
  const { gpuModel, architecture, workdir, budget } = template;
  const port = portOf(template);
  return createSessionSchema.parse({
    name,
    kind: 'inference',
    project: deployment.project,
    group: deployment.group,
    image: template.image,
    ...commandOf(template, deployment.modelName ?? deployment.name),
    ...{ gpuModel, architecture, workdir, budget },
    environment: Object.fromEntries(environmentNames.map((variable) => [variable, ''])),
    kernels: [{ role: 'main', slots: template.slots }],
    mounts: [...template.mounts, ...modelMount(template)],
    ports: [{ name: PORT_NAME, containerPort: port }],
    healthCheck: replicaCheckOf(template),
    priority: template.priority,
    preemptible: template.preemptible,
    startDeadlineSeconds: template.startDeadlineSeconds,
    gracePeriodSeconds: template.gracePeriodSeconds,
    placement: spreadOut(template, deployment.name),
    retry: { maxAttempts: 1 },
    labels: { [DEPLOYMENT_LABEL]: deployment.name },
  });
}

const modelMount = ({ model }: Replica['template']): CreateSession['mounts'] =>
  model === undefined ? [] : [{ folder: model.folder, target: model.path, readOnly: true }];

/** A node that is lost takes as few of its replicas as can be. */
const spreadOut = ({ placement }: Replica['template'], deployment: string): CreateSession['placement'] => ({
  ...placement,
  spread: placement.spread === 'none' ? 'spread' : placement.spread,
  replicaGroup: placement.replicaGroup ?? deployment,
});
