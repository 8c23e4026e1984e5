import type { Principal } from '../../contract/index.js';
import { type Sql, sql } from '../sql.js';

/** Of `sessions s`: a user's own and those of its projects, a domain-admin's domain, everything for an operator. */
export function sessionVisible(viewer: Principal): Sql {
  if (viewer.role === 'operator') return sql`true`;
  const projects = viewer.projects.map((project) => project.id);
  const own = sql`s.user_id = ${viewer.userId} OR s.project_id = ANY(${projects}::text[])`;
  return viewer.role === 'domain-admin' ? sql`(${own} OR s.domain_id = ${viewer.domainId})` : sql`(${own})`;
}
