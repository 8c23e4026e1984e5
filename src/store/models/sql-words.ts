import { type Sql, sql } from '../sql.js';

/** ms since 1970, whole. */
export const ms = (moment: Sql): Sql => sql`floor(extract(epoch FROM ${moment}) * 1000)::float8`;

const SILENT_SECONDS_MIN = 30;

/** Three looks of its agent, and at least 30 s, without one. Of `m`, a row of model_members or pool_members. */
export const isSilent = sql`
  (m.looked_at IS NULL OR m.looked_at < now() - greatest(${SILENT_SECONDS_MIN}::float8,
    3 * (SELECT own.look_seconds FROM pool_members own WHERE own.session_id = m.session_id)) * interval '1 second')`;

/** Of `e`, a row of model_engines: nobody hears its node. */
export const isLost = sql`EXISTS (SELECT 1 FROM nodes n WHERE n.name = e.node AND n.lost_at IS NOT NULL)`;

/** Of `e`, a row of model_engines: requests go to it. What the row says by itself, and its node is heard. */
export const isRouted = sql`(e.routable AND NOT ${isLost})`;

/** An engine that was placed, and that nothing of is on its node yet: no segment, no limit. */
export const isUnstarted = sql`(e.limit_bytes IS NULL AND e.order_kind IS NOT DISTINCT FROM 'start' AND e.order_due_at IS NULL)`;

/** The id of a project that is named as domain/name. */
export const projectId = (path: string): Sql => {
  const [domain = '', name = ''] = path.split('/');
  return sql`(SELECT p.id FROM projects p JOIN domains d ON d.id = p.domain_id WHERE d.name = ${domain} AND p.name = ${name})`;
};
