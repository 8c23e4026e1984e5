import type { Folder, Principal, Session } from '../contract/index.js';
import { notFound, problem } from './problem.js';

/** Rights beyond the role of the route: on one's own things, one's project, one's domain. */
const isAdminOf = (principal: Principal, domainName: string): boolean =>
  principal.role === 'operator' || (principal.role === 'domain-admin' && principal.domainName === domainName);

const managesId = (principal: Principal, projectId: string): boolean =>
  principal.projects.some(({ id, role }) => id === projectId && role === 'manager');

export const mayManageSession = (principal: Principal, session: Session): boolean =>
  session.userId === principal.userId ||
  managesId(principal, session.projectId) ||
  isAdminOf(principal, session.domain);

export function mustManageSession(principal: Principal, session: Session): void {
  if (!mayManageSession(principal, session)) {
    throw problem('forbidden', `${session.name} belongs to ${session.user}`);
  }
}

/** A shell in a container reads its environment values: for its owner and for operators. */
export function mustOwnSession(principal: Principal, session: Session): void {
  if (session.userId !== principal.userId && principal.role !== 'operator') {
    throw problem('forbidden', `only ${session.user} and operators run commands in ${session.name}`);
  }
}

/** Who sees a folder reads and writes in it; only its owner, a manager of its project and admins remove it whole. */
export function mustOwnFolder(principal: Principal, folder: Folder): void {
  const manages = principal.projects.some(
    ({ name, role }) => role === 'manager' && sameProject(folder, principal, name),
  );
  if (folder.owner === principal.userName || manages || principal.role !== 'user') return;
  throw problem('forbidden', `${folder.name} belongs to ${folder.owner}`);
}

const sameProject = ({ project }: Folder, { domainName }: Principal, name: string): boolean =>
  project === name || project === `${domainName}/${name}`;

/** A domain that the caller does not administer is not there for it. */
export function mustAdministerDomain(principal: Principal, domainName: string): void {
  if (!isAdminOf(principal, domainName)) throw notFound(`domain ${domainName}`);
}

export function mustManageProject(principal: Principal, domainName: string, projectName: string): void {
  if (isAdminOf(principal, domainName)) return;
  const own = principal.domainName === domainName && principal.projects.find(({ name }) => name === projectName);
  if (own === false || own === undefined) throw notFound(`project ${domainName}/${projectName}`);
  if (own.role !== 'manager') throw problem('forbidden', `only a manager of ${projectName} changes its members`);
}
