import type { LaunchOrder, OperationId } from '../../contract/index.js';
import { replicaMetricsOf } from '../../deployments/replica-check.js';
import { newNodeToken } from '../../platform/tokens.js';
import type { ApiDeps } from '../deps.js';
import type { Handlers } from '../handler.js';
import { deliver, kick, kickDeployments } from '../kick.js';
import { found, invalid, notFound, problem } from '../problem.js';

type NodeIds = Extract<OperationId, 'createNode' | 'listNodes' | 'getNode' | 'deleteNode'>;
type AgentIds = Extract<
  OperationId,
  'registerNode' | 'reconcileNode' | 'reportNode' | 'reportNodeHealth' | 'getLaunchOrder' | 'replicaMetrics'
>;

/** What a submission seals apart from its spec. */
export interface SessionSecrets {
  readonly environment: LaunchOrder['environment'];
  readonly registryCredentials: LaunchOrder['registryCredentials'];
}

const ensureNode = ({ door, log }: ApiDeps, name: string): void => {
  door.ensureNode(name).catch((error: unknown) => log.warn({ err: error, node: name }, 'no node workflow yet'));
};

export function nodeHandlers(deps: ApiDeps): Handlers<NodeIds> {
  const { nodes } = deps.store;
  return {
    async createNode({ body }) {
      const { secret, hash } = newNodeToken();
      const { name, group, zone = null } = body;
      const made = await nodes.create({ name, group, zone, tokenHash: hash });
      if (made === 'exists') throw problem('conflict', `there is a node ${name} already`);
      if (made === 'no-group') throw invalid('/group', `there is no group ${group}`);
      ensureNode(deps, name);
      return { name, group, token: secret };
    },
    listNodes: ({ query }) => nodes.list(query) as never,
    getNode: async ({ params }) => found(await nodes.get(params.name), `node ${params.name}`),
    async deleteNode({ params }) {
      const outcome = await nodes.remove(params.name);
      if (outcome === 'missing') throw notFound(`node ${params.name}`);
      if (outcome === 'held') {
        const hint = `berth node drain ${params.name} --wait`;
        throw problem('conflict', `node ${params.name} holds sessions`, { hint });
      }
    },
  };
}

export function agentHandlers(deps: ApiDeps): Handlers<AgentIds> {
  const { nodes, deployments } = deps.store;
  /** Of sessions that a report says something new of: their deployments need not wait for the workflows in between. */
  const deploymentsOf = (results: readonly { readonly sessionId: string | null }[]) => {
    const sessions = new Set(results.flatMap(({ sessionId }) => sessionId ?? []));
    return Promise.all([...sessions].map((sessionId) => deployments.deploymentOf(sessionId)));
  };
  const kickGroupOf = async (name: string, onlyIfWaiting = true): Promise<void> => {
    const node = await nodes.get(name);
    if (node !== null) await kick(deps, node.group, onlyIfWaiting);
  };
  return {
    async registerNode({ params, body }) {
      await nodes.register(params.name, body);
      ensureNode(deps, params.name);
      await kickGroupOf(params.name);
    },
    async reconcileNode({ params, body }) {
      const { answer, signals, becameReady } = await nodes.reconcile(params.name, body);
      deliver(deps, signals);
      const replicas = signals.map(({ sessionId }) => deployments.deploymentOf(sessionId));
      kickDeployments(deps, await Promise.all(replicas));
      if (becameReady) {
        await kickGroupOf(params.name);
        kickDeployments(deps, await deployments.deploymentsOn(params.name));
      }
      return answer;
    },
    async reportNode({ params, body }) {
      const results = await nodes.report(params.name, body.reports);
      deliver(
        deps,
        results.map(({ signal }) => signal),
      );
      kickDeployments(deps, await deploymentsOf(results.filter((_, at) => body.reports[at]?.kind !== 'progress')));
      return { results: results.map(({ kernelId, accepted, detail }) => ({ kernelId, accepted, detail })) };
    },
    async reportNodeHealth({ params, body }) {
      const { changed } = await nodes.health(params.name, body);
      if (changed) await kickGroupOf(params.name, false);
    },
    async replicaMetrics({ params, body }) {
      await deployments.recordMetrics(params.name, body);
    },
    async getLaunchOrder({ params }) {
      const { name, kernel, attempt } = params;
      const launch = found(await nodes.launchOrder(name, kernel as never, attempt), `placement of ${kernel} here`);
      const none: SessionSecrets = { environment: {}, registryCredentials: null };
      const { order, sealedSecrets, replica } = launch;
      const secrets =
        sealedSecrets === null ? none : (deps.seal.open(sealedSecrets, order.sessionId) as SessionSecrets);
      return { ...order, ...secrets, metrics: replica === null ? null : replicaMetricsOf(replica) };
    },
  };
}
