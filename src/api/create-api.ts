import type { FastifyInstance } from 'fastify';
import type { OperationId, Route } from '../contract/index.js';
import { addRoutes, type Operation } from './add-routes.js';
import type { ApiDeps } from './deps.js';
import type { Handlers } from './handler.js';
import { appHandlers } from './handlers/apps.js';
import { budgetChecks, budgetHandlers } from './handlers/budgets.js';
import { deploymentHandlers } from './handlers/deployments.js';
import { folderSharingHandlers } from './handlers/folder-sharing.js';
import { folderChecks, folderHandlers } from './handlers/folders.js';
import { modelAgentHandlers } from './handlers/model-agents.js';
import { modelClaimChecks, modelClaimHandlers } from './handlers/model-claims.js';
import { modelKeyChecks, modelKeyHandlers } from './handlers/model-keys.js';
import { nodeChecks, nodeUpkeepHandlers } from './handlers/node-upkeep.js';
import { agentHandlers, nodeHandlers } from './handlers/nodes.js';
import { poolChecks, poolHandlers } from './handlers/pools.js';
import { queueHandlers } from './handlers/queue.js';
import { reportHandlers } from './handlers/reports.js';
import { sessionStreamHandlers } from './handlers/session-streams.js';
import { sessionChecks, sessionHandlers } from './handlers/sessions.js';
import { settingsChecks, settingsHandlers } from './handlers/settings.js';
import { systemHandlers } from './handlers/system.js';
import { tenancyChecks, tenancyHandlers } from './handlers/tenancy.js';
import { usageHandlers } from './handlers/usage.js';
import { measureRequests } from './measure-requests.js';
import { operations } from './run-operation.js';
import { createServer } from './server.js';

const handlersOf = (deps: ApiDeps): Handlers => ({
  ...sessionHandlers(deps),
  ...sessionStreamHandlers(deps),
  ...queueHandlers(deps),
  ...settingsHandlers(deps),
  ...nodeHandlers(deps),
  ...nodeUpkeepHandlers(deps),
  ...agentHandlers(deps),
  ...budgetHandlers(deps),
  ...folderHandlers(deps),
  ...folderSharingHandlers(deps),
  ...appHandlers(deps),
  ...poolHandlers(deps),
  ...deploymentHandlers(deps),
  ...modelClaimHandlers(deps),
  ...modelKeyHandlers(deps),
  ...modelAgentHandlers(deps),
  ...tenancyHandlers(deps),
  ...systemHandlers(deps),
  ...reportHandlers(deps),
  ...usageHandlers(deps),
});

/** The API over its parts, ready to listen or to be injected into. Stateless: run as many as you like. */
export async function createApi(deps: ApiDeps): Promise<FastifyInstance> {
  const { version, requestsPerMinuteMax, checkAnswers } = deps.options;
  const app = await createServer({ log: deps.log, version, requestsPerMinuteMax, checkAnswers });
  measureRequests(app, deps.registry);
  const checks = {
    ...settingsChecks(deps),
    ...tenancyChecks(deps),
    ...nodeChecks(deps),
    ...sessionChecks(deps),
    ...folderChecks(deps),
    ...budgetChecks(deps),
    ...poolChecks(deps),
    ...modelClaimChecks(deps),
    ...modelKeyChecks(deps),
  };
  addRoutes(app, operations({ deps, handlers: handlersOf(deps), checks }));
  return app;
}

const unused = (): never => {
  throw new Error('a document has no requests');
};
const described = (id: OperationId, _route: Route): Operation => ({ id, authenticate: unused, run: unused });

/** The OpenAPI 3.1 document, without any of the API's parts. */
export async function openApiDocument(log: ApiDeps['log'], version: string): Promise<object> {
  const app = await createServer({ log, version, requestsPerMinuteMax: 1, checkAnswers: false });
  addRoutes(app, described);
  await app.ready();
  const document = app.swagger();
  await app.close();
  return document;
}
