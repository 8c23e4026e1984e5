import type { BudgetRow } from '../../budgets/budget-facts.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';

/** Projects and managers by path, each list in its own order. */
const LISTS = sql`
  (SELECT coalesce(json_agg(json_build_object('id', p.id, 'path', d.name || '/' || p.name) ORDER BY d.name, p.name), '[]')
    FROM budget_projects bp JOIN projects p ON p.id = bp.project_id JOIN domains d ON d.id = p.domain_id WHERE bp.budget_id = b.id) AS projects,
  (SELECT coalesce(json_agg(json_build_object('id', u.id, 'path', d.name || '/' || u.name) ORDER BY d.name, u.name), '[]')
    FROM budget_managers bm JOIN users u ON u.id = bm.user_id JOIN domains d ON d.id = u.domain_id WHERE bm.budget_id = b.id) AS managers`;

/** All budgets that ever were, in the order of their creation. */
export const readTree = (tx: Runner): Promise<readonly BudgetRow[]> =>
  tx.rows<BudgetRow>(sql`
    SELECT b.id, b.name, b.parent_id AS "parentId", b.domain_id AS "domainId", o.name AS domain, b.weight, b.cap_ms AS "capMs",
      ${LISTS}, b.version::text AS etag, b.created_at AS "createdAt", b.closed_at AS "closedAt"
    FROM budgets b LEFT JOIN domains o ON o.id = b.domain_id ORDER BY b.created_at, b.id`);
