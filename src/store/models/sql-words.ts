import { type Sql, sql } from '../sql.js';

/** ms since 1970, whole. */
export const ms = (moment: Sql): Sql => sql`floor(extract(epoch FROM ${moment}) * 1000)::float8`;

/** Three of the agents' periods of 10 s without a look. */
export const SILENT_AFTER_MS = 30_000;

/** Of `m`, a row of model_members. */
export const isSilent = sql`(m.looked_at IS NULL OR m.looked_at < now() - ${SILENT_AFTER_MS}::float8 * interval '1 ms')`;

/** An engine that was placed, and that nothing of is on its node yet: no segment, no limit. */
export const isUnstarted = sql`(e.limit_bytes IS NULL AND e.order_kind IS NOT DISTINCT FROM 'start' AND e.order_due_at IS NULL)`;

/** The id of a project that is named as domain/name. */
export const projectId = (path: string): Sql => {
  const [domain = '', name = ''] = path.split('/');
  return sql`(SELECT p.id FROM projects p JOIN domains d ON d.id = p.domain_id WHERE d.name = ${domain} AND p.name = ${name})`;
};
