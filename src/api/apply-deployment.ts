import { createHash } from 'node:crypto';
import type { ApplyDeployment, Deployment, DeploymentTemplate, Principal, RouteInput } from '../contract/index.js';
import { newDeploymentId, newSessionId } from '../platform/ids.js';
import { replicaSession } from '../submit/replica-session.js';
import { deploymentIn, mustBeDone } from './deployment-problems.js';
import type { ApiDeps } from './deps.js';
import { dryRunSession } from './dry-run-session.js';
import { kickDeployments } from './kick.js';
import { chosenProject, modelScopeOf } from './model-scope.js';
import { invalid, ProblemError, problem } from './problem.js';

type Asked = RouteInput<'applyDeployment'> & { readonly principal: Principal };

/**
 * Made, or made to be as asked. What could never start is refused here, once, and not at each replica: its replica is looked at
 * as a session would be.
 */
export async function applyDeployment(deps: ApiDeps, asked: Asked): Promise<Deployment> {
  const { params, query, body, principal } = asked;
  const { store, options, seal } = deps;
  const scope = await modelScopeOf(store.tenancy, principal);
  const known = await store.deployments.deployment(params.name, scope);
  const template = await withFolders(deps, body.template, principal);
  const project = chosenProject(body.project ?? known?.project, principal, scope);
  const wish = { ...body, template, project };
  await mustBeAbleToStart(deps, { name: params.name, wish, principal });
  const { environment, registryCredentials = null } = template;
  const hasSecrets = registryCredentials !== null || Object.keys(environment).length > 0;
  const by = {
    deploymentId: newDeploymentId(),
    userId: principal.userId,
    actor: principal.actingUserName,
    seal: (id: string, revision: number) =>
      hasSecrets ? seal.seal({ environment, registryCredentials }, `deployment/${id}/${revision}`) : null,
    templateHash: hashOf(template),
    dryRun: query.dryRun,
  };
  const made = mustBeDone<Deployment>(await store.deployments.apply(params.name, wish, by), params.name);
  if (!query.dryRun) kickDeployments(deps, [made.id]);
  return deploymentIn(options.gatewayUrl, made);
}

/** Folders by their ids from here on: a name is one person's, and whoever asks must be able to read them. */
async function withFolders(
  { store }: ApiDeps,
  template: DeploymentTemplate,
  principal: Principal,
): Promise<DeploymentTemplate> {
  const idOf = async (asked: string, pointer: string): Promise<string> => {
    const folder = await store.folders.find(asked, principal);
    if (folder === null) throw invalid(pointer, `there is no folder ${asked} that you may read`);
    return folder.id;
  };
  const { model, mounts } = template;
  return {
    ...template,
    ...(model === undefined ? {} : { model: { ...model, folder: await idOf(model.folder, '/template/model/folder') } }),
    mounts: await Promise.all(
      mounts.map(async (mount, index) => ({
        ...mount,
        folder: await idOf(mount.folder, `/template/mounts/${index}/folder`),
      })),
    ),
  };
}

interface ToStart {
  readonly name: string;
  readonly wish: ApplyDeployment & { readonly project: string };
  readonly principal: Principal;
}

/** What admission would say of one of its replicas; a group that is full is no reason. */
async function mustBeAbleToStart(deps: ApiDeps, { name, wish, principal }: ToStart): Promise<void> {
  const { template, project, group, modelName } = wish;
  const spec = replicaSession(
    { name: `${name.slice(0, REPLICA_NAME_MAX)}-r0-check`, template },
    { name, project, group, modelName },
    Object.keys(template.environment),
  );
  const verdict = await dryRunSession(deps, principal, { spec, sessionId: newSessionId() }).catch((error: unknown) => {
    throw error instanceof ProblemError ? inTemplate(error) : error;
  });
  if (verdict.outcome !== 'refused') return;
  const { message, reason } = verdict;
  throw problem(reason?.endsWith('_quota') === true ? 'quota_exceeded' : 'never_fits', message, {
    errors: [{ pointer: '/template/slots', message }],
    hint: 'ask for less in template.slots; what there is: berth get nodes, berth quota ls',
  });
}
const REPLICA_NAME_MAX = 40;

/** A session's fields are at its top; a deployment has them in its template. */
function inTemplate(error: ProblemError): ProblemError {
  const { errors } = error.refusal;
  if (errors === undefined) return error;
  const moved = errors.map(({ pointer, message }) => ({ pointer: placeOf(pointer), message }));
  return new ProblemError({ ...error.refusal, errors: moved });
}

const OWN = /^\/(project|group|name)(\/|$)/;
const placeOf = (pointer: string): string =>
  OWN.test(pointer) ? pointer : pointer.startsWith('/kernels') ? '/template/slots' : `/template${pointer}`;

/** Over all of it, its secrets too; the order of keys is no difference. */
const hashOf = (template: DeploymentTemplate): Buffer =>
  createHash('sha256')
    .update(JSON.stringify(template, (_key, value: unknown) => sorted(value)))
    .digest();

const sorted = (value: unknown): unknown =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;
