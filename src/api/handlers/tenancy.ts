import type { OperationId, Principal, Role } from '../../contract/index.js';
import { newApiKey } from '../../platform/tokens.js';
import type { ApiDeps } from '../deps.js';
import type { Checks, Handlers } from '../handler.js';
import { invalid, notFound, problem } from '../problem.js';
import { mustAdministerDomain, mustManageProject } from '../rights.js';

type Ids = Extract<
  OperationId,
  | 'whoAmI'
  | 'createDomain'
  | 'listDomains'
  | 'createProject'
  | 'listProjects'
  | 'putMember'
  | 'removeMember'
  | 'createUser'
  | 'listUsers'
  | 'createKey'
  | 'listKeys'
  | 'revokeKey'
  | 'listAudit'
>;

const RANKS: Readonly<Record<Role, number>> = { user: 0, 'domain-admin': 1, operator: 2 };

function mustNotOutrank(principal: Principal, role: Role): void {
  if (RANKS[role] > RANKS[principal.role])
    throw problem('forbidden', `a ${principal.role} gives no one the role ${role}`);
}

/** A key is as good as its user: nobody makes one for somebody with more rights, or in another domain. */
async function mustMakeKeyFor({ store }: ApiDeps, principal: Principal, name: string): Promise<void> {
  if (name === principal.userName) return;
  const user = await store.tenancy.getUser(name);
  if (user === null || principal.role === 'user') throw notFound(`user ${name}`);
  mustAdministerDomain(principal, user.domain);
  mustNotOutrank(principal, user.role);
}

export const tenancyChecks = (deps: ApiDeps) =>
  ({
    createProject: async ({ body }, { principal }) => mustAdministerDomain(principal, body.domain),
    async createUser({ body }, { principal }) {
      mustAdministerDomain(principal, body.domain);
      mustNotOutrank(principal, body.role);
    },
    putMember: async ({ params }, { principal }) => mustManageProject(principal, params.domain, params.project),
    removeMember: async ({ params }, { principal }) => mustManageProject(principal, params.domain, params.project),
    createKey: ({ body }, { principal }) => mustMakeKeyFor(deps, principal, body.user ?? principal.userName),
  }) satisfies Checks;

function peopleHandlers({ store: { tenancy } }: ApiDeps) {
  return {
    async createDomain({ body }, { resourceId }) {
      const made = await tenancy.createDomain({ id: resourceId, name: body.name });
      if (made === 'exists') throw problem('conflict', `there is a domain ${body.name} already`);
      return made;
    },
    async createProject({ body }, { resourceId }) {
      const made = await tenancy.createProject({ id: resourceId, ...body });
      if (made === 'exists') throw problem('conflict', `there is a project ${body.domain}/${body.name} already`);
      if (made === 'no-domain') throw notFound(`domain ${body.domain}`);
      return made;
    },
    async createUser({ body }, { resourceId }) {
      const made = await tenancy.createUser({ id: resourceId, ...body });
      if (made === 'exists') throw problem('conflict', `there is a user ${body.name} already`);
      if (made === 'no-domain') throw notFound(`domain ${body.domain}`);
      if (made === 'no-project') throw invalid('/projects', `a project in the list is not in ${body.domain}`);
      return made;
    },
    async putMember({ params, body }) {
      if ((await tenancy.putMember({ ...params, ...body })) === 'missing') throw notFound('such user or project');
    },
    async removeMember({ params }) {
      if ((await tenancy.removeMember(params)) === 'missing') throw notFound('such member');
    },
  } satisfies Partial<Handlers>;
}

export function tenancyHandlers(deps: ApiDeps): Handlers<Ids> {
  const { tenancy, events } = deps.store;
  return {
    ...peopleHandlers(deps),
    async whoAmI(_input, { principal }) {
      const { userId, userName, role, domainName, projects, scope, actingUserName } = principal;
      return {
        userId,
        user: userName,
        role,
        domain: domainName,
        projects: [...projects],
        scope,
        actingUser: actingUserName,
      };
    },
    listDomains: ({ query }, { principal }) => tenancy.listDomains(query, principal) as never,
    listProjects: ({ query }, { principal }) => tenancy.listProjects(query, principal) as never,
    listUsers: ({ query }, { principal }) => tenancy.listUsers(query, principal) as never,
    async createKey({ body }, { principal, resourceId }) {
      const { secret, hash, shown } = newApiKey();
      const { name, scope, user = principal.userName, expiresInDays = null } = body;
      const made = await tenancy.createKey({ id: resourceId, name, user, scope, hash, prefix: shown, expiresInDays });
      if (made === 'no-user') throw notFound(`user ${user}`);
      if (made === 'exists') throw problem('conflict', `${user} has a key ${name} already`);
      return { ...made, secret };
    },
    listKeys: ({ query }, { principal }) => tenancy.listKeys(query, principal) as never,
    async revokeKey({ params }, { principal }) {
      if ((await tenancy.revokeKey(params.key, principal)) === 'missing') throw notFound(`key ${params.key}`);
    },
    listAudit: ({ query }, { principal }) => events.listAudit(query, principal) as never,
  };
}
