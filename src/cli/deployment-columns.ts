import type {
  Deployment,
  DeploymentEvent,
  DeploymentToken,
  ReplicaView,
  Revision,
  ScaleDecisionView,
} from '../contract/index.js';
import { formatAge, formatUntil } from './format-amounts.js';
import type { Shown } from './output.js';

export const weightsText = ({ weights }: Pick<Deployment, 'weights'>): string =>
  weights.map(({ revision, percent }) => (percent === 100 ? `r${revision}` : `r${revision} ${percent}%`)).join(', ') ||
  '-';

/** Said only where it does not serve as wanted. */
const whyOf = ({ state, message }: Deployment): string => (state === 'READY' ? '' : message);

export const DEPLOYMENT: Shown<Deployment> = {
  none: 'no deployments; make one: berth deploy apply -f FILE.yaml',
  nameOf: ({ name }) => name,
  idOf: ({ id }) => id,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'STATE', of: ({ state }) => state },
    { head: 'WHY', of: whyOf },
    { head: 'SERVING', of: ({ replicasServing, replicasWanted }) => `${replicasServing}/${replicasWanted}` },
    { head: 'LIVE', of: ({ replicasLive }) => String(replicasLive) },
    { head: 'REVISION', of: weightsText },
    { head: 'ROLLOUT', of: ({ rollout }) => (rollout === null ? '' : `r${rollout.target} ${rollout.percent}%`) },
    { head: 'MODEL', of: ({ modelName }) => modelName ?? '-' },
    { head: 'PROJECT', of: ({ project }) => project },
    { head: 'AGE', of: ({ createdAt }, now) => formatAge(createdAt, now) },
    { head: 'GROUP', of: ({ group }) => group, isWide: true },
    { head: 'OWNER', of: ({ owner }) => owner, isWide: true },
    { head: 'ACCESS', of: ({ access }) => access, isWide: true },
    { head: 'URL', of: ({ url }) => url, isWide: true },
    { head: 'ID', of: ({ id }) => id, isWide: true },
  ],
};

export const REPLICA: Shown<ReplicaView> = {
  none: 'no replicas',
  nameOf: ({ name }) => name,
  idOf: ({ sessionId }) => sessionId,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'ROUTE', of: ({ route }) => route },
    { head: 'HEALTH', of: ({ health }) => health },
    { head: 'WHY', of: ({ message, reason }) => message ?? reason ?? '' },
    { head: 'NODE', of: ({ node }) => node ?? '-' },
    { head: 'REQUESTS', of: ({ inFlight }) => String(inFlight) },
    { head: 'AGE', of: ({ createdAt }, now) => formatAge(createdAt, now) },
    { head: 'SESSION', of: ({ sessionId }) => sessionId },
  ],
};

export const REVISION: Shown<Revision> = {
  none: 'no revisions',
  nameOf: ({ revision }) => String(revision),
  idOf: ({ revision }) => String(revision),
  columns: [
    { head: 'REVISION', of: ({ revision }) => String(revision) },
    { head: 'STATE', of: ({ state }) => state },
    { head: 'IMAGE', of: ({ template }) => template.image },
    { head: 'MODEL', of: ({ template }) => template.model?.folder ?? '-' },
    { head: 'BY', of: ({ createdBy }) => createdBy },
    { head: 'AGE', of: ({ createdAt }, now) => formatAge(createdAt, now) },
    { head: 'MESSAGE', of: ({ message }) => message ?? '' },
  ],
};

export const DEPLOYMENT_EVENT: Shown<DeploymentEvent> = {
  none: 'nothing happened yet',
  nameOf: ({ id }) => String(id),
  idOf: ({ id }) => String(id),
  columns: [
    { head: 'TIME', of: ({ at }) => at },
    { head: 'KIND', of: ({ kind }) => kind },
    { head: 'COUNT', of: ({ count }) => String(count) },
    { head: 'MESSAGE', of: ({ message }) => message },
    { head: 'ACTOR', of: ({ actor }) => actor },
    { head: 'FIRST', of: ({ firstAt }) => firstAt, isWide: true },
  ],
};

/** `queue up 6.5 → 3`: what each rule said, with its number. */
export const rulesText = ({ rules }: Pick<ScaleDecisionView, 'rules'>): string =>
  rules
    .map(
      ({ rule, says, value, count }) =>
        [`${rule} ${says}`, ...(value === null ? [] : [String(Number(value.toFixed(2)))])].join(' ') +
        (count === null ? '' : ` → ${count}`),
    )
    .join('; ');

export const DECISION: Shown<ScaleDecisionView> = {
  none: 'no decision yet: it has no rules, or they have not been looked at',
  nameOf: ({ at }) => at,
  idOf: ({ at }) => at,
  columns: [
    { head: 'TIME', of: ({ at }) => at },
    { head: 'COUNT', of: ({ current, wanted }) => (current === wanted ? String(current) : `${current} → ${wanted}`) },
    { head: 'BY', of: ({ by }) => by ?? '-' },
    { head: 'BECAUSE', of: ({ because }) => because },
    { head: 'RULES', of: rulesText },
  ],
};

export const DEPLOYMENT_TOKEN: Shown<DeploymentToken> = {
  none: 'no tokens; make one: berth deploy token create DEPLOYMENT',
  nameOf: ({ name }) => name,
  idOf: ({ id }) => id,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'ID', of: ({ id }) => id },
    { head: 'BY', of: ({ createdBy }) => createdBy },
    { head: 'AGE', of: ({ createdAt }, now) => formatAge(createdAt, now) },
    { head: 'ENDS', of: ({ expiresAt }, now) => (expiresAt === null ? 'never' : formatUntil(expiresAt, now)) },
  ],
};
