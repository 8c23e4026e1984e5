import type { BudgetFacts, LeafFacts } from '../../budgets/budget-facts.js';
import type { BudgetId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { readMoment, windowOf } from './for-group.js';
import { readCapacity } from './read-capacity.js';
import { readTree } from './read-tree.js';
import { readHolding, readHomes, readUse } from './read-use.js';
import { readSettings } from './settings.js';

export type BudgetTerms = Pick<BudgetFacts, 'at' | 'settings' | 'presentMilliGpus' | 'rows'>;

/** The tree, and what a minimum runtime is measured with: all that an admission needs, and it reads no interval. */
export async function readTerms(tx: Runner): Promise<BudgetTerms> {
  const at = await readMoment(tx);
  const { etag: _, ...settings } = await readSettings(tx);
  const { presentMilliGpus } = await readCapacity(tx, windowOf(settings, at));
  return { at, settings, presentMilliGpus, rows: await readTree(tx) };
}

/** Allocated work that waits and is eligible, and open sessions of whatever kind, by budget. */
const readAsking = (tx: Runner) =>
  tx.rows<{ budgetId: string; pending: number; open: number }>(sql`
    SELECT h.home AS "budgetId", count(*)::int AS open,
      coalesce(sum(i.milli_gpus) FILTER (WHERE s.state = 'PENDING'), 0)::bigint AS pending
    FROM sessions s JOIN budget_homes h ON h.id = s.budget_id
    LEFT JOIN demand_intervals i ON i.session_id = s.id AND i.ended_at IS NULL
    WHERE s.budget_id IS NOT NULL AND s.ended_at IS NULL GROUP BY h.home`);

/** `tx` must be one consistent view. A budget that is missing among the leaves has none of it; a closed one's use is with the nearest above it that is open. */
export async function readFacts(tx: Runner): Promise<BudgetFacts> {
  const at = await readMoment(tx);
  const { etag: _, ...settings } = await readSettings(tx);
  const window = windowOf(settings, at);
  const rows = await readTree(tx);
  const { charged, unallocated } = await readUse(tx, window, await readHomes(tx));
  const holding = new Map((await readHolding(tx, { at, exceptGroup: null })).map((one) => [one.budgetId, one]));
  const asking = new Map((await readAsking(tx)).map((one) => [one.budgetId, one]));
  const factsOf = (id: BudgetId): LeafFacts => ({
    id,
    use: charged.get(id) ?? 0,
    committed: holding.get(id)?.committed ?? 0,
    unallocatedUse: unallocated.get(id) ?? 0,
    runningMilliGpus: holding.get(id)?.milliGpus ?? 0,
    pendingMilliGpus: asking.get(id)?.pending ?? 0,
    openSessions: asking.get(id)?.open ?? 0,
  });
  const hasAny = (facts: LeafFacts): boolean =>
    facts.use + facts.unallocatedUse + facts.runningMilliGpus + facts.openSessions > 0;
  const leaves = rows.map(({ id }) => factsOf(id)).filter(hasAny);
  return { at, settings, ...(await readCapacity(tx, window)), rows, leaves };
}
