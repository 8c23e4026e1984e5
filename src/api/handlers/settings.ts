import type { OperationId, Principal, Quota } from '../../contract/index.js';
import type { ApiDeps } from '../deps.js';
import { ifMatchOf, stale, withEtag } from '../etag.js';
import type { Checks, Handlers } from '../handler.js';
import { kick } from '../kick.js';
import { found, invalid, notFound, problem } from '../problem.js';
import { mustAdministerDomain } from '../rights.js';

type Ids = Extract<
  OperationId,
  'createGroup' | 'listGroups' | 'getGroup' | 'patchGroup' | 'listQuotas' | 'getQuota' | 'putQuota'
>;
type QuotaPath = { readonly scope: Quota['scope']; readonly name: string };

/** A project stands as `domain~project` in a path, since a slash would end the name there. */
const quotaName = ({ scope, name }: QuotaPath): string => (scope === 'project' ? name.replace('~', '/') : name);
const domainOfProject = (name: string): string => name.split('/', 1)[0] ?? '';
const noProject = (guarantees: readonly { readonly project?: string | undefined }[] = []) => {
  const named = guarantees.flatMap(({ project }) => project ?? []).join(', ');
  return invalid('/policy/guarantees', `not each of these is a project, written as domain/project: ${named}`);
};
const noScope = () => invalid('', 'a domain or project in the list does not exist');

/** Its own quotas are shown to everyone; those of others to the admin of their domain. */
async function maySee({ store }: ApiDeps, principal: Principal, { scope, name }: QuotaPath): Promise<boolean> {
  if (principal.role === 'operator') return true;
  if (scope === 'domain') return name === principal.domainName;
  const [domain, project] = name.split('/');
  if (scope === 'project') {
    const inDomain = domain === principal.domainName;
    return inDomain && (principal.role === 'domain-admin' || principal.projects.some((own) => own.name === project));
  }
  if (name === principal.userName) return true;
  return principal.role === 'domain-admin' && (await store.tenancy.getUser(name))?.domainId === principal.domainId;
}

/** A domain's own limits are the operator's to set: its admin could lift them otherwise. */
async function mustSetQuota({ store }: ApiDeps, principal: Principal, { scope, name }: QuotaPath): Promise<void> {
  if (principal.role === 'operator') return;
  if (scope === 'domain') throw problem('forbidden', "only an operator sets a domain's quota");
  if (scope === 'project') return mustAdministerDomain(principal, domainOfProject(name));
  const user = await store.tenancy.getUser(name);
  if (user?.domainId !== principal.domainId) throw notFound(`user ${name}`);
}

async function kickAll(deps: ApiDeps): Promise<void> {
  for (const group of await deps.store.control.groups()) await kick(deps, group, true);
}

export const settingsChecks = (deps: ApiDeps) =>
  ({
    putQuota: ({ params }, { principal }) =>
      mustSetQuota(deps, principal, { scope: params.scope, name: quotaName(params) }),
  }) satisfies Checks;

export function settingsHandlers(deps: ApiDeps): Handlers<Ids> {
  const { settings } = deps.store;
  return {
    async createGroup({ body }) {
      const made = await settings.createGroup(body);
      if (made === 'exists') throw problem('conflict', `there is a group ${body.name} already`);
      if (made === 'no-scope') throw noScope();
      if (made === 'no-guaranteed-project') throw noProject(body.policy.guarantees);
      deps.door
        .ensureGroup(body.name)
        .catch((error: unknown) => deps.log.warn({ err: error }, 'no group workflow yet'));
      return made;
    },
    listGroups: ({ query }, { principal }) => settings.listGroups(query, principal) as never,
    async getGroup({ params }, { principal, reply }) {
      return withEtag(reply, found(await settings.getGroup(params.name, principal), `group ${params.name}`));
    },
    async patchGroup({ params, body }, { request, reply }) {
      const { policy, ...scopes } = body;
      const change = { ...scopes, ...(policy === undefined ? {} : { policy }), ifMatch: ifMatchOf(request) };
      const group = await settings.patchGroup(params.name, change as never);
      if (group === 'missing') throw notFound(`group ${params.name}`);
      if (group === 'stale') throw stale(`group ${params.name}`);
      if (group === 'no-scope') throw noScope();
      if (group === 'no-guaranteed-project') throw noProject(policy?.guarantees);
      await kick(deps, params.name, true);
      return withEtag(reply, group);
    },
    listQuotas: ({ query }, { principal }) => settings.listQuotas(query, principal) as never,
    async getQuota({ params }, { principal, reply }) {
      const path = { scope: params.scope, name: quotaName(params) };
      const what = `quota of ${path.scope} ${path.name}`;
      if (!(await maySee(deps, principal, path))) throw notFound(what);
      return withEtag(reply, found(await settings.getQuota(path.scope, path.name), what));
    },
    async putQuota({ params, body }, { request, reply }) {
      const name = quotaName(params);
      const quota = await settings.putQuota(params.scope, name, { limits: body, ifMatch: ifMatchOf(request) });
      if (quota === 'missing') throw notFound(`${params.scope} ${name}`);
      if (quota === 'stale') throw stale(`the quota of ${params.scope} ${name}`);
      await kickAll(deps);
      return withEtag(reply, quota);
    },
  };
}
