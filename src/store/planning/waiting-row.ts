import type { Blocker, NearestNode, NodeVerdict, Reason } from '../../contract/index.js';
import { type Sql, sql } from '../sql.js';

/** All that a waiting session's reason is told or derived from. */
export interface WaitingRow {
  readonly id: string;
  readonly queueRank: number;
  readonly submittedAt: string;
  readonly reason: Reason | null;
  readonly message: string | null;
  readonly blockers: readonly Blocker[];
  readonly nodes: NodeVerdict | null;
  readonly nearest: NearestNode | null;
  readonly expectedStart: string | null;
  readonly expectedBasis: string | null;
  readonly reservedNodes: readonly string[];
  /** Only while they are to come. */
  readonly startsAt: string | null;
  readonly retryAt: string | null;
  /** What it depends on and that has not ended. */
  readonly openUpstream: readonly { readonly id: string; readonly name: string }[] | null;
}

const UPSTREAM = sql`
  CASE WHEN s.has_upstream THEN (
    SELECT json_agg(json_build_object('id', u.id, 'name', u.name) ORDER BY u.id) FROM session_dependencies d
    JOIN sessions u ON u.id = d.upstream_id WHERE d.session_id = s.id AND u.ended_at IS NULL) END`;

/** Of `sessions s`. */
export const WAITING_COLUMNS: Sql = sql`
  s.id, s.queue_rank AS "queueRank", s.submitted_at AS "submittedAt", s.reason, s.message, s.blockers, s.node_verdict AS nodes,
  s.nearest, s.expected_start AS "expectedStart", s.expected_basis AS "expectedBasis", s.reserved_nodes AS "reservedNodes",
  CASE WHEN s.starts_at > now() THEN s.starts_at END AS "startsAt", CASE WHEN s.retry_at > now() THEN s.retry_at END AS "retryAt",
  ${UPSTREAM} AS "openUpstream"`;
