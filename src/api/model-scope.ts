import type { Principal } from '../contract/index.js';
import type { ModelScope } from '../store/model-store.js';
import type { TenancyStore } from '../store/tenancy-store.js';
import { invalid, notFound } from './problem.js';

const PAGE = 500;

/** Operators see all; a domain's admin what is of its domain's projects; others what is of their own. */
export async function modelScopeOf(tenancy: TenancyStore, principal: Principal): Promise<ModelScope> {
  if (principal.role === 'operator') return { projects: null };
  if (principal.role === 'user') return { projects: ownProjects(principal) };
  return { projects: await knownProjects(tenancy, principal) };
}

const ownProjects = ({ projects, domainName }: Principal): string[] =>
  projects.map(({ name }) => projectKey(domainName, name));

/** A member of it; no role stands in for that. */
export const isIn = (project: string, principal: Principal): boolean => ownProjects(principal).includes(project);

/** All that the caller may see: of every domain for an operator. */
export async function knownProjects(tenancy: TenancyStore, principal: Principal): Promise<readonly string[]> {
  const projects = new Set(ownProjects(principal));
  let cursor: string | null = null;
  do {
    const query = { limit: PAGE, ...(cursor === null ? {} : { cursor }) };
    const page: Awaited<ReturnType<TenancyStore['listProjects']>> = await tenancy.listProjects(query, principal);
    for (const { domain, name } of page.items) projects.add(projectKey(domain, name));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return [...projects];
}

/** Names of projects are unique in a domain only. */
export const projectKey = (domain: string, name: string): string => `${domain}/${name}`;

/** `name` of the caller's domain, or `domain/name`; one's only project when it is left out. A foreign one is not there. */
export function chosenProject(asked: string | undefined, principal: Principal, scope: ModelScope): string {
  const own = ownProjects(principal);
  if (asked === undefined) {
    const [only, ...others] = own;
    if (only !== undefined && others.length === 0) return only;
    throw invalid('/project', own.length === 0 ? 'name the project' : `name one of ${own.join(', ')}`);
  }
  const key = asked.includes('/') ? asked : projectKey(principal.domainName, asked);
  if (scope.projects !== null && !scope.projects.includes(key)) throw notFound(`project ${asked}`);
  return key;
}
