import type { Deployment, DeploymentWhy } from '../contract/index.js';
import { REPLICA, rulesText, weightsText } from './deployment-columns.js';
import { formatUntil } from './format-amounts.js';
import { renderTable } from './table.js';

type Rollout = NonNullable<Deployment['rollout']>;

const countsText = ({ replicasWanted, replicasLive, replicasServing }: Deployment): string =>
  `${replicasServing} serving, ${replicasLive} live, ${replicasWanted} wanted`;

/** `revision 1 → 2, step 1 of 3, 10% of the requests: …`. */
export function rolloutText(
  { from, target, step, steps, percent, paused, message, rollsBackAt }: Rollout,
  now: Date,
): string {
  const way = from === null ? `revision ${target}` : `revision ${from} → ${target}`;
  const where = steps > 1 ? `, step ${Math.min(step + 1, steps)} of ${steps}` : '';
  const back = rollsBackAt === null || paused ? '' : `; without progress it goes back ${formatUntil(rollsBackAt, now)}`;
  return `${way}${where}, ${percent}% of the requests${paused ? ', paused' : ''}: ${message}${back}`;
}

/** What stands between it and what is wanted, on one line: for progress. */
export const deploymentProgress = (deployment: Deployment): string =>
  [deployment.state, countsText(deployment), deployment.message].filter((part) => part !== '').join(' · ');

/** A deployment for people: how it stands, where it answers, and each replica. */
export function deploymentText(deployment: Deployment, now: Date): string {
  const { name, state, message, rollout, autoscale, lastDecision, retryAt, failuresInARow, replicas } = deployment;
  return [
    `${name} is ${state}: ${message}`,
    `  replicas  ${countsText(deployment)}`,
    `  endpoint  ${deployment.url} (${deployment.access})${deployment.modelName === null ? '' : `; model ${deployment.modelName}`}`,
    `  requests  ${weightsText(deployment)}; strategy ${deployment.strategy.kind}`,
    `  project   ${deployment.project}, group ${deployment.group}, of ${deployment.owner}`,
    ...(rollout === null ? [] : [`  rollout   ${rolloutText(rollout, now)}`]),
    ...(autoscale === null
      ? []
      : [
          `  scaling   ${autoscale.minimum} to ${autoscale.maximum}, ${autoscale.rules.length} rules, ${autoscale.schedules.length} schedules`,
        ]),
    ...(lastDecision === null ? [] : [`  decision  ${lastDecision.because}`]),
    ...(retryAt === null
      ? []
      : [`  back-off  ${failuresInARow} failures in a row; the next replica ${formatUntil(retryAt, now)}`]),
    renderTable(replicas, REPLICA.columns, { now, isWide: false }).trimEnd(),
  ].join('\n');
}

/** Why it does not serve as wanted, replica by replica, and what to do. */
export function deploymentWhyText(why: DeploymentWhy, now: Date): string {
  const { name, state, message, replicas, rollout, lastDecision, retryAt, actions, events } = why;
  const troubled = replicas.filter(({ message: said }) => said !== '' && said !== 'it serves');
  return [
    `${name} is ${state}: ${message}`,
    ...troubled.map(
      ({ sessionId, revision, route, health, message: said }) =>
        `  ${sessionId}  r${revision}  ${route}  ${health}  ${said}`,
    ),
    ...(rollout === null ? [] : [`  rollout: ${rolloutText(rollout, now)}`]),
    ...(lastDecision === null ? [] : [`  rules: ${lastDecision.because} (${rulesText(lastDecision)})`]),
    ...(retryAt === null ? [] : [`  failures hold back the next replica; it comes ${formatUntil(retryAt, now)}`]),
    ...actions.map(({ title, command }) => `  try: ${title}: ${command}`),
    ...events
      .slice(0, EVENTS)
      .map(({ at, count, message: said }) => `  ${at}  ${said}${count > 1 ? ` (${count} times)` : ''}`),
  ].join('\n');
}
const EVENTS = 5;

/** What a dry run says that apply would do to what is there; null: nothing is. */
export function changesText(now: Deployment | null, then: Deployment): string {
  if (now === null) return `${then.name} would be made, with ${then.replicasWanted} wanted`;
  const changes = [
    ...(then.rollout !== null && then.rollout.target !== now.rollout?.target
      ? [`revision ${then.rollout.target} would be rolled out`]
      : []),
    ...(now.replicasWanted === then.replicasWanted
      ? []
      : [`${now.replicasWanted} → ${then.replicasWanted} replicas wanted`]),
    ...FIELDS.filter((field) => JSON.stringify(now[field]) !== JSON.stringify(then[field])).map(
      (field) => `${field} would change`,
    ),
  ];
  return changes.length === 0 ? `${then.name} is so already: nothing would change` : changes.join('; ');
}
const FIELDS = ['strategy', 'rolloutTimeoutSeconds', 'autoscale', 'modelName', 'access'] as const;
