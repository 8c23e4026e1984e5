import type { CreateModelClaim, ModelClaim, OperationId, Pool, PoolSnapshot, Principal } from '../../contract/index.js';
import { refuseEngineArgs } from '../../engines/engine-args.js';
import { type ClaimRefusal, checkClaim, checkClaimChange } from '../../models/check-claim.js';
import { newClaimReason } from '../../models/new-claim-reason.js';
import { suggestPerGpu } from '../../models/suggest-per-gpu.js';
import type { ClaimProblem, ModelScope } from '../../store/model-store.js';
import type { ApiDeps } from '../deps.js';
import type { Checks, Handlers } from '../handler.js';
import { kickPools, signalModels } from '../kick-pools.js';
import { chosenProject, modelScopeOf } from '../model-scope.js';
import { found, invalid, notFound, problem } from '../problem.js';

type Ids = Extract<
  OperationId,
  | 'createModelClaim'
  | 'listModelClaims'
  | 'getModelClaim'
  | 'changeModelClaim'
  | 'sleepModel'
  | 'wakeModel'
  | 'removeModelClaim'
  | 'modelHistory'
  | 'suggestPerGpu'
>;

const scopeOf = ({ store }: ApiDeps, principal: Principal): Promise<ModelScope> =>
  modelScopeOf(store.tenancy, principal);

/** By id or model name; another project's is not there. */
async function seeClaim(deps: ApiDeps, claim: string, principal: Principal): Promise<ModelClaim> {
  return found(await deps.store.models.claim(claim, await scopeOf(deps, principal)), `model claim ${claim}`);
}

function refuse({ field, message }: ClaimRefusal): never {
  throw invalid(field, message);
}

function mustBeTaken(
  made: ModelClaim | ClaimProblem,
  names: { readonly model: string; readonly pool: string },
): ModelClaim {
  if (!('problem' in made)) return made;
  switch (made.problem) {
    case 'refused':
      return refuse(made);
    case 'name-taken':
      throw problem('conflict', `there is a model ${names.model} already`, {
        errors: [{ pointer: '/modelName', message: 'is taken' }],
        hint: 'choose another --name; a model of yours: berth model ls',
      });
    case 'no-pool':
    case 'no-project':
      throw unknownPool(names.pool);
    case 'missing':
      throw notFound(`model claim ${names.model}`);
  }
}

/** The same for a pool that is not there and for one that the project may not use. */
const unknownPool = (pool: string) =>
  problem('not_found', `there is no pool ${pool} that the project may use`, {
    errors: [{ pointer: '/pool', message: 'is not there for this project' }],
    hint: 'berth pool ls',
  });

const usesPool = (pool: Pool, project: string): boolean => pool.project === project || pool.projects.includes(project);

interface Asked {
  readonly body: CreateModelClaim;
  readonly project: string;
  readonly pool: Pool;
}

/** All that are Berth's to give, each at its place in the list. */
function refuseArgs(engine: Pool['engine'], args: readonly string[]): void {
  const refused = refuseEngineArgs(engine, args);
  if (refused.length === 0) return;
  const errors = refused.map(({ arg, message }) => ({
    pointer: `/args/${args.findIndex((given) => given.startsWith(arg))}`,
    message,
  }));
  const detail = refused.map(({ message }) => message).join('; ');
  throw problem('invalid_request', detail, { errors, hint: 'leave them out of the arguments' });
}

/** What is asked for, once the pool and all that can be told from the request alone are in order. */
async function askedFor(deps: ApiDeps, body: CreateModelClaim, principal: Principal): Promise<Asked> {
  const scope = await scopeOf(deps, principal);
  const project = chosenProject(body.project, principal, scope);
  const pool = await deps.store.models.pool(body.pool, { projects: [project] });
  if (pool === null || !usesPool(pool, project)) throw unknownPool(body.pool);
  refuseArgs(pool.engine, body.args);
  const refused = checkClaim(body, { engine: pool.engine, gpusPerMember: pool.member.gpus });
  if (refused !== null) refuse(refused);
  const artifactUrl = await artifactOf(deps, body.artifactUrl, principal);
  return { body: { ...body, artifactUrl }, project, pool };
}

/**
 * A model out of a folder is read by everybody who may use the model: whoever claims it must be able to read the folder. It
 * is named by its id from here on, since a name is one person's.
 */
async function artifactOf({ store }: ApiDeps, artifactUrl: string, principal: Principal): Promise<string> {
  if (!artifactUrl.startsWith(FOLDER)) return artifactUrl;
  const asked = artifactUrl.slice(FOLDER.length);
  const folder = await store.folders.find(asked, principal);
  if (folder === null) throw invalid('/artifactUrl', `there is no folder ${asked} that you may read`);
  return `${FOLDER}${folder.id}`;
}
const FOLDER = 'folder://';

/** What it asks for, and whether its name is free, looked at without making it. */
export const modelClaimChecks = (deps: ApiDeps) =>
  ({
    async createModelClaim({ query, body }, { principal }) {
      if (!query.dryRun) return;
      await askedFor(deps, body, principal);
      const taken = await deps.store.models.claim(body.modelName, { projects: null });
      if (taken !== null) mustBeTaken({ problem: 'name-taken' }, { model: body.modelName, pool: body.pool });
    },
  }) satisfies Checks;

async function create(deps: ApiDeps, asked: Asked, by: { readonly claimId: string; readonly principal: Principal }) {
  const { body, project } = asked;
  const { claimId, principal } = by;
  const who = { claimId, actor: principal.actingUserName, userId: principal.userId };
  const why = (snapshot: PoolSnapshot) => newClaimReason(snapshot, body);
  const made = await deps.store.models.createClaim({ ...body, project }, who, why);
  const claim = mustBeTaken(made, { model: body.modelName, pool: body.pool });
  kickPools(deps, [claim.pool]);
  signalModels(deps, [claim.id]);
  return claim;
}

/** Each makes its change in the ledger, then wakes who carries it out. */
function changeHandlers(
  deps: ApiDeps,
): Handlers<'createModelClaim' | 'changeModelClaim' | 'sleepModel' | 'wakeModel' | 'removeModelClaim'> {
  const { models } = deps.store;
  const after = (claim: ModelClaim): ModelClaim => {
    kickPools(deps, [claim.pool]);
    signalModels(deps, [claim.id]);
    return claim;
  };
  return {
    createModelClaim: async ({ body }, { principal, resourceId }) =>
      create(deps, await askedFor(deps, body, principal), { claimId: resourceId, principal }),
    async changeModelClaim({ params, body }, { principal }) {
      const claim = await seeClaim(deps, params.claim, principal);
      const by = {
        actor: principal.actingUserName,
        decide: (snapshot: PoolSnapshot, claimId: string) => checkClaimChange(snapshot, claimId, body),
      };
      const names = { model: claim.modelName, pool: claim.pool };
      return after(mustBeTaken(await models.changeClaim(claim.id, body, by), names));
    },
    async sleepModel({ params }, { principal }) {
      const claim = await seeClaim(deps, params.claim, principal);
      if (claim.pinned) throw problem('conflict', `${claim.modelName} is pinned: it never sleeps`);
      return after(found(await models.askSleep(claim.id, principal.actingUserName), `model claim ${params.claim}`));
    },
    async wakeModel({ params }, { principal }) {
      const claim = await seeClaim(deps, params.claim, principal);
      await models.askWakes([{ claimId: claim.id, lastRequestMs: Date.now() }]);
      return after(await seeClaim(deps, claim.id, principal));
    },
    async removeModelClaim({ params }, { principal }) {
      const claim = await seeClaim(deps, params.claim, principal);
      return after(found(await models.endClaim(claim.id, principal.actingUserName), `model claim ${params.claim}`));
    },
  };
}

export function modelClaimHandlers(deps: ApiDeps): Handlers<Ids> {
  const { models } = deps.store;
  return {
    ...changeHandlers(deps),
    async listModelClaims({ query }, { principal }) {
      return (await models.claims(query, await scopeOf(deps, principal))) as never;
    },
    getModelClaim: ({ params }, { principal }) => seeClaim(deps, params.claim, principal),
    async modelHistory({ params, query }, { principal }) {
      const { id } = await seeClaim(deps, params.claim, principal);
      return (await models.events(id, query)) as never;
    },
    async suggestPerGpu({ params }, { principal }) {
      const claim = await seeClaim(deps, params.claim, principal);
      return suggestPerGpu(claim, await models.measured(claim.id));
    },
  };
}
