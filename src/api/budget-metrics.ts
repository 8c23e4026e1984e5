import { Gauge, type Registry } from 'prom-client';
import { budgetSight, budgetViews } from '../budgets/budget-view.js';
import type { Budget, BudgetReport } from '../contract/index.js';
import { ROOT_BUDGET_ID } from '../contract/index.js';
import type { Store } from '../store/store.js';
import { readReport } from './read-report.js';

type Stores = Pick<Store, 'budgets' | 'reports'>;

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
interface Figures {
  /** The open ones. */
  readonly budgets: readonly Budget[];
  /** Of the whole tree over the window; null where no group orders by fair share. */
  readonly report: BudgetReport | null;
}
interface Shown {
  readonly help: string;
  readonly labels: readonly string[];
  readonly samples: (figures: Figures) => readonly Sample[];
}

const FRESH_MS = 15_000;
const IDLE_BELOW_PERCENT = 10;

const ofBudgets = (help: string, of: (budget: Budget) => number | null): Shown => ({
  help,
  labels: ['budget'],
  samples: ({ budgets }) =>
    budgets.flatMap((budget) => {
      const value = of(budget);
      return value === null ? [] : [{ labels: { budget: budget.path }, value }];
    }),
});

const ofReport = (help: string, labels: readonly string[], of: (report: BudgetReport) => readonly Sample[]): Shown => ({
  help,
  labels,
  samples: ({ report }) => (report === null ? [] : of(report)),
});

const one = (value: number): readonly Sample[] => [{ labels: {}, value }];
const known = (labels: Sample['labels'], value: number | null): readonly Sample[] =>
  value === null ? [] : [{ labels, value }];

/** GPU-seconds are in factor units, over the window of the budgets' settings that ends at the scrape. */
const GAUGES: Readonly<Record<string, Shown>> = {
  budget_claim: ofBudgets("the budget's part of the capacity, 0 to 1", ({ use }) => use.claim),
  budget_allocated_gpu_seconds: ofBudgets('claim × capacity of the window', ({ use }) => use.allocatedGpuSeconds),
  budget_used_gpu_seconds: ofBudgets('charged within the window', ({ use }) => use.usedGpuSeconds),
  budget_committed_gpu_seconds: ofBudgets(
    'what running work is still protected for',
    ({ use }) => use.committedGpuSeconds,
  ),
  budget_unallocated_gpu_seconds: ofBudgets('used for nothing', ({ use }) => use.unallocatedGpuSeconds),
  budget_ratio: ofBudgets('used / allocated; absent where nothing is allocated', ({ use }) => use.ratio),
  pyramid_gpu_seconds: ofReport('parts of the waterfall; used is absent where nothing was measured', ['part'], partsOf),
  pyramid_impact: ofReport('sum of min(U, A, D) / sum of min(A, D) over the leaves', [], ({ pyramid }) =>
    one(pyramid.impact),
  ),
  first_gpu_seconds: ofReport('wait for the first GPU of those that got it', ['class', 'quantile'], ({ waits }) =>
    waits.flatMap((row) => [
      ...known({ class: row.class, quantile: '0.5' }, row.medianSeconds),
      ...known({ class: row.class, quantile: '0.95' }, row.p95Seconds),
    ]),
  ),
  first_gpu_started: ofReport('sessions that got their first GPU', ['class'], ({ waits }) =>
    waits.map((row) => ({ labels: { class: row.class }, value: row.started })),
  ),
  first_gpu_waiting: ofReport('sessions without a GPU so far', ['class'], ({ waits }) =>
    waits.map((row) => ({ labels: { class: row.class }, value: row.waiting })),
  ),
  paid_idle_gpu_seconds: ofReport(
    `measured and not used, of charged sessions that used less than ${IDLE_BELOW_PERCENT} %`,
    [],
    ({ paidIdle }) => (paidIdle.reason === null ? one(paidIdle.idleGpuSeconds) : []),
  ),
  broken_contracts: ofReport('attempts that were stopped within their minimum runtime', [], ({ brokenContracts }) =>
    one(brokenContracts.length),
  ),
};

function partsOf({ waterfall: w }: BudgetReport): readonly Sample[] {
  const part = (name: string, value: number | null) => known({ part: name }, value);
  return [
    ...part('total', w.totalGpuSeconds),
    ...part('healthy', w.healthyGpuSeconds),
    ...part('assigned', w.assignedGpuSeconds),
    ...part('charged', w.chargedGpuSeconds),
    ...part('unallocated', w.unallocatedGpuSeconds),
    ...part('not_charged', w.unchargedGpuSeconds),
    ...part('measured', w.measuredGpuSeconds),
    ...part('used', w.usedGpuSeconds),
  ];
}

/** Gauges `berth_*` of budgets and of the pyramid. A scrape costs a report at most each 15 s, and nothing where no group orders by fair share. */
export function measureBudgets(registry: Registry, store: Stores): void {
  let latest: { readonly at: number; readonly value: Promise<Figures> } | undefined;
  const figures = (): Promise<Figures> => {
    if (latest === undefined || Date.now() - latest.at > FRESH_MS) {
      const value = readFigures(store);
      latest = { at: Date.now(), value };
      value.catch(() => (latest = undefined)); // the next scrape asks again
    }
    return latest.value;
  };
  for (const [name, { help, labels, samples }] of Object.entries(GAUGES)) {
    new Gauge({
      name: `berth_${name}`,
      help,
      labelNames: [...labels],
      registers: [registry],
      async collect() {
        const own = samples(await figures());
        this.reset();
        for (const sample of own) this.set(sample.labels, sample.value);
      },
    });
  }
}

async function readFigures(store: Stores): Promise<Figures> {
  if ((await store.reports.fairShareGroups()).length === 0) return { budgets: [], report: null };
  const facts = await store.budgets.facts();
  const untilMs = Date.parse(facts.at);
  const report = await readReport(store, {
    fromMs: untilMs - facts.settings.windowSeconds * 1000,
    untilMs,
    budgetId: ROOT_BUDGET_ID,
    rows: facts.rows,
    idleBelowPercent: IDLE_BELOW_PERCENT,
    viewer: null,
  });
  return { budgets: budgetViews(budgetSight(facts)).filter(({ state }) => state === 'open'), report };
}
