import { ROOT_BUDGET_ID } from '../../contract/index.js';
import type { BudgetGround, BudgetRow, BudgetStore, BudgetWrite } from '../budget-store.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import { raiseFairShare } from './raise-fair-share.js';
import { readTree } from './read-tree.js';

type LookUp = Parameters<BudgetStore['change']>[0];

const OPEN_SHOWN = 20;

async function readGround(tx: Runner, lookUp: LookUp): Promise<BudgetGround> {
  const moment = await tx.first<{ at: string }>(sql`SELECT now()::timestamptz(3) AS at`);
  return {
    at: moment?.at ?? '',
    rows: await readTree(tx),
    openSessions: await tx.rows(sql`
      SELECT s.budget_id AS "budgetId", s.id, s.name FROM budgets b CROSS JOIN LATERAL (
        SELECT * FROM sessions s WHERE s.budget_id = b.id AND s.ended_at IS NULL ORDER BY s.id LIMIT ${OPEN_SHOWN}) s
      ORDER BY s.budget_id, s.id`),
    domains: await tx.rows(sql`SELECT id, name FROM domains WHERE name = ANY(${lookUp.domains}::text[]) ORDER BY name`),
    projects: await tx.rows(sql`
      SELECT p.id, d.name || '/' || p.name AS path, p.domain_id AS "domainId" FROM projects p JOIN domains d ON d.id = p.domain_id
      WHERE d.name || '/' || p.name = ANY(${lookUp.projects}::text[]) ORDER BY path`),
    users: await tx.rows(sql`
      SELECT u.id, d.name || '/' || u.name AS path FROM users u JOIN domains d ON d.id = u.domain_id
      WHERE d.name || '/' || u.name = ANY(${lookUp.users}::text[]) ORDER BY path`),
  };
}

async function writeRow(tx: Runner, { row }: BudgetWrite): Promise<void> {
  await tx.run(sql`
    INSERT INTO budgets AS b (id, name, parent_id, domain_id, weight, cap_ms, closed_at)
    VALUES (${row.id}, ${row.name}, ${row.parentId}, ${row.domainId}, ${row.weight}, ${row.capMs}, ${row.closedAt})
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, parent_id = excluded.parent_id, domain_id = excluded.domain_id,
      weight = excluded.weight, cap_ms = excluded.cap_ms, closed_at = excluded.closed_at, version = b.version + 1`);
  await tx.run(
    sql`DELETE FROM budget_projects WHERE budget_id = ${row.id} AND project_id <> ALL(${row.projectIds}::text[])`,
  );
  await tx.run(sql`
    INSERT INTO budget_projects (budget_id, project_id) SELECT ${row.id}, unnest(${row.projectIds}::text[]) ON CONFLICT DO NOTHING`);
  await tx.run(
    sql`DELETE FROM budget_managers WHERE budget_id = ${row.id} AND user_id <> ALL(${row.managerIds}::text[])`,
  );
  await tx.run(sql`
    INSERT INTO budget_managers (budget_id, user_id) SELECT ${row.id}, unnest(${row.managerIds}::text[]) ON CONFLICT DO NOTHING`);
}

/** What the row claims from now on, where that is not what it claimed. */
async function writeVersion(tx: Runner, { row }: BudgetWrite): Promise<void> {
  await tx.run(sql`
    UPDATE budget_versions v SET until = greatest(v.since, now()) WHERE v.budget_id = ${row.id} AND v.until IS NULL
      AND (${row.closedAt}::timestamptz IS NOT NULL OR (v.parent_id, v.weight) IS DISTINCT FROM (${row.parentId}::text, ${row.weight}::int))`);
  await tx.run(sql`
    INSERT INTO budget_versions (budget_id, parent_id, weight, since)
    SELECT ${row.id}, ${row.parentId}, ${row.weight}, greatest(now(), (SELECT max(until) FROM budget_versions WHERE budget_id = ${row.id}))
    WHERE ${row.closedAt}::timestamptz IS NULL ON CONFLICT DO NOTHING`);
}

const writeHistory = (tx: Runner, { row, history }: BudgetWrite, actor: string): Promise<number> =>
  tx.run(sql`
    INSERT INTO budget_changes (budget_id, budget, actor, field, before, after)
    SELECT ${row.id}, h.budget, ${actor}, h.field, h.before, h.after
    FROM ROWS FROM (jsonb_to_recordset(${json(history)}::jsonb) AS (budget text, field text, before jsonb, after jsonb))
      WITH ORDINALITY AS h(budget, field, before, after, place) ORDER BY h.place`);

/** The last guard, whatever was decided: below the changed one nobody hangs in the air. */
async function requireRooted(tx: Runner, { row }: BudgetWrite): Promise<void> {
  const rooted = await tx.first(sql`
    WITH RECURSIVE above AS (
      SELECT id, parent_id FROM budgets WHERE id = ${row.id}
      UNION SELECT b.id, b.parent_id FROM above a JOIN budgets b ON b.id = a.parent_id)
    SELECT 1 FROM above WHERE id = ${ROOT_BUDGET_ID}`);
  if (rooted === undefined) throw new Error(`the budget ${row.name} would not be below the root`);
}

/** One change after the other: each decides from what the one before left. */
export async function changeTree<Refusal>(
  tx: Runner,
  { lookUp, decide, actor }: Change<Refusal>,
): Promise<{ readonly row: BudgetRow; readonly groups: readonly string[] } | { readonly refused: Refusal }> {
  await tx.run(sql`SELECT pg_advisory_xact_lock(hashtextextended('budgets', 0))`);
  const decided = decide(await readGround(tx, lookUp));
  if ('refused' in decided) return decided;
  const { write } = decided;
  const groups = await raiseFairShare(tx);
  await writeRow(tx, write);
  await requireRooted(tx, write);
  await writeVersion(tx, write);
  await writeHistory(tx, write, actor);
  const row = (await readTree(tx)).find(({ id }) => id === write.row.id);
  if (row === undefined) throw new Error(`the budget ${write.row.name} was not written`);
  return { row, groups };
}
interface Change<Refusal> {
  readonly lookUp: LookUp;
  readonly decide: (ground: BudgetGround) => { readonly write: BudgetWrite } | { readonly refused: Refusal };
  readonly actor: string;
}
