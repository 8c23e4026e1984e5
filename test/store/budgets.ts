import type { BudgetId, CreateSessionInput, SessionId } from '../../src/contract/index.js';
import { ROOT_BUDGET_ID } from '../../src/contract/index.js';
import type { BudgetGround, BudgetRow, BudgetWrite } from '../../src/store/budget-store.js';
import { kernelsOf, type Ledger, nextId, openLedger, placeAll, submit } from './ledger.js';

export const ROOT = ROOT_BUDGET_ID as BudgetId;
const NO_NAMES = { domains: [], projects: [], users: [] };
export const HOUR = 3_600_000;

/** A ledger whose group orders by fair share. */
export async function openFairLedger(gpus = 4, url?: string): Promise<Ledger> {
  const ledger = await openLedger(url === undefined ? { gpus } : { gpus, url });
  await ledger.store.settings.patchGroup('default', { policy: { order: 'fair-share' }, ifMatch: null });
  return ledger;
}

type Row = BudgetWrite['row'];
const writeOf = (row: BudgetRow): Row => ({
  ...row,
  projectIds: row.projects.map(({ id }) => id),
  managerIds: row.managers.map(({ id }) => id),
});

export async function makeBudget(ledger: Ledger, name: string, change: Partial<Row> = {}): Promise<BudgetId> {
  const id = nextId<BudgetId>('bgt');
  const row: Row = {
    id,
    name,
    parentId: ROOT,
    domainId: ledger.admin.domainId,
    weight: 1,
    capMs: null,
    closedAt: null,
    projectIds: ledger.admin.projects.map((project) => project.id),
    managerIds: [],
    ...change,
  };
  const history = [{ budget: name, field: 'created' as const, before: null, after: name }];
  await ledger.store.budgets.change(NO_NAMES, () => ({ write: { row, history } }), 'admin');
  return id;
}

/** What a decider answers who takes the row that is there and changes it. */
export const changing =
  (id: BudgetId, change: (row: Row, ground: BudgetGround) => Partial<Row>, field: 'weight' | 'parent' | 'closed') =>
  (ground: BudgetGround): { readonly write: BudgetWrite } => {
    const found = ground.rows.find((row) => row.id === id);
    if (found === undefined) throw new Error('no such budget');
    const before = writeOf(found);
    const row = { ...before, ...change(before, ground) };
    const value = { weight: 'weight', parent: 'parentId', closed: 'closedAt' } as const;
    const history = [{ budget: row.name, field, before: before[value[field]], after: row[value[field]] }];
    return { write: { row, history } };
  };

export const changeBudget = (ledger: Ledger, ...args: Parameters<typeof changing>) =>
  ledger.store.budgets.change(NO_NAMES, changing(...args), 'admin');

/** Waits in the group, charging the budget. */
export async function submitCharged(
  ledger: Ledger,
  budgetId: BudgetId | null,
  request: Partial<CreateSessionInput> = {},
): Promise<SessionId> {
  const sessionId = await submit(ledger, { minRuntimeSeconds: 60, ...request });
  const context = await ledger.store.sessions.readAdmission(sessionId);
  if (context === null) throw new Error('no submission');
  await ledger.store.sessions.insertPending(context, kernelsOf(context.submission.spec), budgetId);
  return sessionId;
}

export async function startCharged(
  ledger: Ledger,
  ...args: Parameters<typeof submitCharged> extends [Ledger, ...infer Rest] ? Rest : never
) {
  const sessionId = await submitCharged(ledger, ...args);
  await placeAll(ledger.store);
  const begun = await ledger.store.sessions.begin(sessionId, 1);
  if (begun.outcome !== 'go') throw new Error(`it was not begun: ${begun.outcome}`);
  await ledger.store.sessions.markRunning(sessionId, 1);
  return sessionId;
}
