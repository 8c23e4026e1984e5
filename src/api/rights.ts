import type { Folder, FolderPermission, Principal, Session } from '../contract/index.js';
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

/** Only its owner, a manager of the project that owns it, and admins share a folder, give it away or remove it whole. */
export function mustOwnFolder(folder: Folder): void {
  if (!folder.mayManage) throw problem('forbidden', `${folder.name} belongs to ${ownerOf(folder)}`);
}

const ownerOf = ({ ownedBy, owner, project }: Folder): string => (ownedBy === 'user' ? owner : `project ${project}`);

/** Each permission that an operation on a folder's files needs. */
export function mustHavePermissions(folder: Folder, needed: readonly FolderPermission[]): void {
  const lacking = needed.filter((one) => !folder.permissions.includes(one));
  if (lacking.length === 0) return;
  const hint = `ask ${folder.owner}: berth folder share ${folder.name} YOU --allow ${[...folder.permissions, ...lacking].join(',')}`;
  throw problem('forbidden', `you have no permission to ${lacking.join(' and ')} in ${folder.name}`, { hint });
}

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
