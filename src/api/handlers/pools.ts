import type { CreatePool, OperationId, Pool, Principal } from '../../contract/index.js';
import type { PoolProblem } from '../../store/model-store.js';
import type { ApiDeps } from '../deps.js';
import type { Checks, Handlers } from '../handler.js';
import { kickPools } from '../kick-pools.js';
import { chosenProject, isIn, knownProjects, modelScopeOf, projectKey } from '../model-scope.js';
import { poolGpus } from '../pool-gpus.js';
import { found, invalid, notFound, problem } from '../problem.js';

type Ids = Extract<
  OperationId,
  'createPool' | 'listPools' | 'getPool' | 'changePool' | 'drainPool' | 'removePool' | 'poolGpus' | 'poolSnapshot'
>;

const DEFAULT_GROUP = 'default';
const NOT_A_MEMBER =
  'members of a pool are sessions of whoever makes it, and you are not in this project: have somebody add you (berth project add-member), or act for a member of it';
const EVERYTHING = { projects: null };

/** A pool as the caller may see it: one that none of its projects may use is not there. */
export async function seePool({ store }: Pick<ApiDeps, 'store'>, name: string, principal: Principal): Promise<Pool> {
  const scope = await modelScopeOf(store.tenancy, principal);
  return found(await store.models.pool(name, scope), `pool ${name}`);
}

function mustBeDone<T>(done: T | PoolProblem, name: string): T {
  switch (done) {
    case 'exists':
      throw problem('conflict', `there is a pool ${name} already`, {
        errors: [{ pointer: '/name', message: 'is taken' }],
        hint: `berth pool get ${name}`,
      });
    case 'no-group':
      throw invalid('/group', 'there is no such group');
    case 'no-project':
      throw invalid('/projects', 'one of the projects is not there: write DOMAIN/PROJECT');
    case 'not-a-member':
      throw invalid('/project', NOT_A_MEMBER);
    case 'has-claims':
      throw problem('conflict', `pool ${name} has claims`, {
        hint: `berth model ls --pool ${name}; end them: berth model rm MODEL`,
      });
    case 'missing':
      throw notFound(`pool ${name}`);
    default:
      return done;
  }
}

/** Of the operator's own domain where a project is named without one. */
const namedProjects = (projects: readonly string[], { domainName }: Principal): string[] => [
  ...new Set(projects.map((name) => (name.includes('/') ? name : projectKey(domainName, name)))),
];

async function wantedPool(body: CreatePool, principal: Principal) {
  return {
    ...body,
    project: chosenProject(body.project, principal, EVERYTHING),
    group: body.group ?? DEFAULT_GROUP,
    projects: namedProjects(body.projects, principal),
  };
}

/** Values of variables are sealed and kept apart; their names stay. */
function withoutValues<P extends CreatePool>(pool: P): P {
  const names = Object.keys(pool.member.environment).map((name) => [name, ''] as const);
  return { ...pool, member: { ...pool.member, environment: Object.fromEntries(names) } };
}

export const poolChecks = ({ store }: ApiDeps) =>
  ({
    async createPool({ query, body }, { principal }) {
      if (!query.dryRun) return;
      const { project, group, projects } = await wantedPool(body, principal);
      if ((await store.models.pool(body.name, EVERYTHING)) !== null) mustBeDone('exists', body.name);
      if ((await store.settings.getGroup(group, principal)) === null) mustBeDone('no-group', body.name);
      if (!isIn(project, principal)) mustBeDone('not-a-member', body.name);
      const known = new Set(await knownProjects(store.tenancy, principal));
      if (![project, ...projects].every((name) => known.has(name))) mustBeDone('no-project', body.name);
    },
  }) satisfies Checks;

/** Of what an operator makes and changes; each change wakes the planner. */
function changeHandlers(deps: ApiDeps): Handlers<'createPool' | 'changePool' | 'drainPool' | 'removePool'> {
  const { models } = deps.store;
  const change = async (
    name: string,
    asked: Parameters<typeof models.changePool>[1],
    { actingUserName }: Principal,
  ) => {
    const pool = mustBeDone<Pool>(await models.changePool(name, asked, actingUserName), name);
    kickPools(deps, [name]);
    return pool;
  };
  return {
    async createPool({ body }, { principal }) {
      const pool = await wantedPool(body, principal);
      const { environment } = body.member;
      const isEmpty = Object.keys(environment).length === 0;
      const sealedEnvironment = isEmpty ? null : deps.seal.seal(environment, `pool/${body.name}`);
      const by = { userId: principal.userId, sealedEnvironment };
      const made = mustBeDone<Pool>(await models.createPool(withoutValues(pool), by), body.name);
      kickPools(deps, [made.name]);
      return made;
    },
    changePool: ({ params, body }, { principal }) => {
      const projects = body.projects === undefined ? {} : { projects: namedProjects(body.projects, principal) };
      return change(params.name, { ...body, ...projects }, principal);
    },
    drainPool: ({ params }, { principal }) => change(params.name, { drain: true }, principal),
    async removePool({ params }, { principal }) {
      mustBeDone<'removed'>(await models.removePool(params.name, principal.actingUserName), params.name);
      kickPools(deps, [params.name]);
    },
  };
}

export function poolHandlers(deps: ApiDeps): Handlers<Ids> {
  const { models, tenancy } = deps.store;
  return {
    ...changeHandlers(deps),
    listPools: async ({ query }, { principal }) =>
      (await models.pools(query, await modelScopeOf(tenancy, principal))) as never,
    getPool: ({ params }, { principal }) => seePool(deps, params.name, principal),
    async poolGpus({ params }, { principal }) {
      const { name } = await seePool(deps, params.name, principal);
      return { items: [...(await poolGpus(models, name, await modelScopeOf(tenancy, principal)))] };
    },
    poolSnapshot: async ({ params }) => found(await models.snapshot(params.name), `pool ${params.name}`),
  };
}
