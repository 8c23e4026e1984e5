import { type BudgetSettings, budgetSettingsSchema } from '../../contract/index.js';
import type { BudgetStore } from '../budget-store.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import { raiseFairShare } from './raise-fair-share.js';

type Settings = BudgetSettings & { readonly etag: string };

/** What was stored without a field has its default. */
export async function readSettings(tx: Runner): Promise<Settings> {
  const row = await tx.first<{ settings: unknown; version: number }>(
    sql`SELECT settings, version FROM budget_settings`,
  );
  return { ...budgetSettingsSchema.parse(row?.settings ?? {}), etag: String(row?.version ?? 0) };
}

/** Factors hold from now on: what was booked and what was there before keeps the factors of its time. */
export async function writeSettings(
  tx: Runner,
  settings: BudgetSettings,
  { etag }: Parameters<BudgetStore['putSettings']>[1],
): Promise<{ readonly settings: Settings; readonly groups: readonly string[] } | 'stale'> {
  const groups = await raiseFairShare(tx);
  const row = await tx.first<{ version: number }>(sql`SELECT version FROM budget_settings FOR UPDATE`);
  if (etag !== null && etag !== String(row?.version ?? 0)) return 'stale';
  await tx.run(
    sql`UPDATE budget_settings SET settings = ${json(budgetSettingsSchema.parse(settings))}::jsonb, version = version + 1`,
  );
  return { settings: await readSettings(tx), groups };
}
