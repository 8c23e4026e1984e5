import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperationId, Route, RouteInput } from '../contract/index.js';
import {
  newApiKeyId,
  newBudgetId,
  newClaimId,
  newDeploymentTokenId,
  newDomainId,
  newFolderId,
  newInvitationId,
  newProjectId,
  newRequestId,
  newSessionId,
  newUserId,
} from '../platform/ids.js';
import type { Operation } from './add-routes.js';
import { audit } from './audit.js';
import { authenticator } from './authenticate.js';
import type { ApiDeps } from './deps.js';
import type { Checks, Handler, Handlers, UserCall } from './handler.js';
import { createOnce, type Once } from './idempotency.js';
import { OWN_DRY_RUN, takesDryRun } from './route-schema.js';

const MINT: Readonly<Partial<Record<OperationId, () => string>>> = {
  createSession: newSessionId,
  createFolder: newFolderId,
  cloneFolder: newFolderId,
  inviteToFolder: newInvitationId,
  giveFolder: newInvitationId,
  createBudget: newBudgetId,
  createDomain: newDomainId,
  createProject: newProjectId,
  createUser: newUserId,
  createKey: newApiKeyId,
  createModelClaim: newClaimId,
  createDeploymentToken: newDeploymentTokenId,
};
/** Their handlers are safe beside themselves: a second one joins the first. */
const JOINS_RUNNING: ReadonlySet<OperationId> = new Set([
  'createSession',
  'createBudget',
  'createModelClaim',
  'sleepModel',
  'wakeModel',
  'drainPool',
  'scaleDeployment',
  'undoRollout',
  'pauseRollout',
  'resumeRollout',
  'promoteRollout',
  'stopSession',
  'cordonNode',
  'uncordonNode',
  'drainNode',
  'markNodeUnhealthy',
  'markNodeHealthy',
  'moveNode',
  'warmNode',
]);
type AnyInput = RouteInput<OperationId>;
type AnyHandler = (input: AnyInput, call: UserCall) => Promise<unknown>;

const isDryRun = (route: Route, input: AnyInput): boolean =>
  takesDryRun(route) && (input.query as unknown as { dryRun: boolean }).dryRun;

function wouldDo(id: OperationId, route: Route, input: AnyInput) {
  const { name } = { ...(input.body as unknown as object), ...(input.params as unknown as object) } as {
    name?: string;
  };
  const object = name ?? Object.values(input.params ?? {}).join('/');
  return { dryRun: true, operation: id, object, message: `${route.summary}: allowed; nothing was changed` };
}

interface Parts {
  readonly deps: ApiDeps;
  readonly handlers: Handlers;
  readonly checks: Checks;
}

function runner(parts: Parts & { readonly once: Once }, id: OperationId, route: Route) {
  const handler = parts.handlers[id] as Handler<OperationId> as AnyHandler;
  const check = parts.checks[id] as AnyHandler | undefined;
  const isChange = route.method !== 'GET' && route.access !== 'node';

  const carryOut = async (input: AnyInput, call: UserCall): Promise<unknown> => {
    const answer = await handler(input, call);
    if (!isChange) return answer;
    const { request, principal } = call;
    await audit(parts.deps.store.events, { operation: id, principal, request, answer });
    return answer;
  };

  return async (input: AnyInput, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { principal, node } = request;
    const call = { request, reply, principal, node, resourceId: '' } as unknown as UserCall;
    await check?.(input, call);
    if (isDryRun(route, input)) {
      void reply.code(200);
      return OWN_DRY_RUN.has(id) ? handler(input, call) : wouldDo(id, route, input);
    }
    const newResourceId = MINT[id] ?? newRequestId;
    if (route.idempotent !== true) return carryOut(input, { ...call, resourceId: newResourceId() });
    const attempt = { operation: id, request, reply, status: route.status, newResourceId };
    const how = { sealed: route.secretAnswer === true, joinsRunning: JOINS_RUNNING.has(id) };
    return parts.once.run({ ...attempt, ...how }, (resourceId) => carryOut(input, { ...call, resourceId }));
  };
}

/** Authenticates, checks, answers a dry run or carries out once, and writes the audit row: the same for every route. */
export function operations(parts: Parts): (id: OperationId, route: Route) => Operation {
  const once = createOnce(parts.deps.store.idempotency, parts.deps.seal);
  return (id, route) => ({
    id,
    authenticate: authenticator(parts.deps.store, route),
    run: runner({ ...parts, once }, id, route),
  });
}
