import type { Deployment, DeploymentToken, OperationId, Principal } from '../../contract/index.js';
import { newDeploymentToken } from '../../platform/tokens.js';
import type { DeploymentProblem } from '../../store/deployment-store.js';
import { applyDeployment } from '../apply-deployment.js';
import { deploymentIn, mustBeDone } from '../deployment-problems.js';
import type { ApiDeps } from '../deps.js';
import type { Handlers } from '../handler.js';
import { kickDeployments } from '../kick.js';
import { modelScopeOf } from '../model-scope.js';
import { found } from '../problem.js';

type Changes =
  | 'applyDeployment'
  | 'scaleDeployment'
  | 'undoRollout'
  | 'pauseRollout'
  | 'resumeRollout'
  | 'promoteRollout'
  | 'removeDeployment';
type Reads =
  | 'listDeployments'
  | 'getDeployment'
  | 'whyDeployment'
  | 'deploymentRevisions'
  | 'deploymentEvents'
  | 'scaleDecisions';
type Tokens = 'createDeploymentToken' | 'listDeploymentTokens' | 'revokeDeploymentToken';

/** By name; another project's is not there. Whoever goes on does so by the id: the name may be another one's a moment later. */
async function see({ store }: ApiDeps, name: string, principal: Principal): Promise<Deployment> {
  const scope = await modelScopeOf(store.tenancy, principal);
  return found(await store.deployments.deployment(name, scope), `deployment ${name}`);
}

/** Each makes its change in the ledger, then wakes who carries it out. */
function changeHandlers(deps: ApiDeps): Handlers<Extract<OperationId, Changes>> {
  const { deployments } = deps.store;
  const { gatewayUrl } = deps.options;
  const change = async (
    { name }: { readonly name: string },
    principal: Principal,
    make: (id: string, actor: string) => Promise<Deployment | DeploymentProblem>,
  ): Promise<Deployment> => {
    const { id } = await see(deps, name, principal);
    const changed = mustBeDone<Deployment>(await make(id, principal.actingUserName), name);
    kickDeployments(deps, [id]);
    return deploymentIn(gatewayUrl, changed);
  };
  const rollout = (kind: 'pause' | 'resume' | 'promote') => (id: string, actor: string) =>
    deployments.rolloutChange(id, { kind }, actor);
  return {
    applyDeployment: (input, { principal }) => applyDeployment(deps, { ...input, principal }),
    scaleDeployment: ({ params, body }, { principal }) =>
      change(params, principal, (id, actor) => deployments.scale(id, body.replicas, actor)),
    undoRollout: ({ params, body }, { principal }) =>
      change(params, principal, (id, actor) =>
        deployments.rolloutChange(id, { kind: 'undo', toRevision: body.toRevision ?? null }, actor),
      ),
    pauseRollout: ({ params }, { principal }) => change(params, principal, rollout('pause')),
    resumeRollout: ({ params }, { principal }) => change(params, principal, rollout('resume')),
    promoteRollout: ({ params }, { principal }) => change(params, principal, rollout('promote')),
    removeDeployment: ({ params }, { principal }) =>
      change(params, principal, async (id, actor) => (await deployments.end(id, actor)) ?? { problem: 'missing' }),
  };
}

function readHandlers(deps: ApiDeps): Handlers<Extract<OperationId, Reads>> {
  const { deployments, tenancy } = deps.store;
  const { gatewayUrl } = deps.options;
  return {
    async listDeployments({ query }, { principal }) {
      const page = await deployments.deployments(query, await modelScopeOf(tenancy, principal));
      return { ...page, items: page.items.map((item) => deploymentIn(gatewayUrl, item)) };
    },
    getDeployment: async ({ params }, { principal }) =>
      deploymentIn(gatewayUrl, await see(deps, params.name, principal)),
    async whyDeployment({ params }, { principal }) {
      const scope = await modelScopeOf(tenancy, principal);
      return found(await deployments.why(params.name, scope), `deployment ${params.name}`);
    },
    deploymentRevisions: async ({ params, query }, { principal }) =>
      (await deployments.revisions((await see(deps, params.name, principal)).id, query)) as never,
    deploymentEvents: async ({ params, query }, { principal }) =>
      (await deployments.events((await see(deps, params.name, principal)).id, query)) as never,
    scaleDecisions: async ({ params, query }, { principal }) =>
      (await deployments.decisions((await see(deps, params.name, principal)).id, query)) as never,
  };
}

const MS = 1000;

function tokenHandlers(deps: ApiDeps): Handlers<Extract<OperationId, Tokens>> {
  const { deployments } = deps.store;
  return {
    async createDeploymentToken({ params, body }, { principal, resourceId }) {
      const { id, name } = await see(deps, params.name, principal);
      const { secret, hash } = newDeploymentToken();
      const { expiresInSeconds } = body;
      const expiresAt = expiresInSeconds === null ? null : new Date(Date.now() + expiresInSeconds * MS).toISOString();
      const token = { id: resourceId, name: body.name, hash, expiresAt };
      const made = await deployments.createToken(id, token, principal.actingUserName);
      return { ...mustBeDone<DeploymentToken>(made, name), token: secret };
    },
    listDeploymentTokens: async ({ params, query }, { principal }) =>
      (await deployments.tokens((await see(deps, params.name, principal)).id, query)) as never,
    async revokeDeploymentToken({ params }, { principal }) {
      const { id } = await see(deps, params.name, principal);
      const revoked = await deployments.revokeToken(id, params.token, principal.actingUserName);
      found(revoked ? true : null, `token ${params.token}`);
    },
  };
}

export const deploymentHandlers = (deps: ApiDeps): Handlers<Extract<OperationId, Changes | Reads | Tokens>> => ({
  ...changeHandlers(deps),
  ...readHandlers(deps),
  ...tokenHandlers(deps),
});
