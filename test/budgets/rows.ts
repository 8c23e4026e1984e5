import type { BudgetFacts, BudgetRow, LeafFacts } from '../../src/budgets/budget-facts.js';
import { fromGpuHours } from '../../src/budgets/gpu-time.js';
import { type BudgetId, ROOT_BUDGET_ID } from '../../src/contract/index.js';

export const CREATED = '2026-11-01T00:00:00.000Z';
export const idOf = (name: string): BudgetId =>
  (name === 'root' ? ROOT_BUDGET_ID : `bgt_0${name.replace(/[ilou]/g, 'z').padEnd(25, '0')}`) as BudgetId;

/** A row of the ledger; projects and managers by path, whose ids are `prj_<path>` and `usr_<path>`. */
export function row(
  name: string,
  parent: string | null,
  more: Partial<Omit<BudgetRow, 'projects' | 'managers'>> & {
    readonly projects?: readonly string[];
    readonly managers?: readonly string[];
  } = {},
): BudgetRow {
  const { projects = [], managers = [], ...rest } = more;
  const isRoot = parent === null;
  return {
    id: idOf(name),
    name,
    parentId: parent === null ? null : idOf(parent),
    domainId: isRoot ? null : 'dom_lab',
    domain: isRoot ? null : 'lab',
    weight: 1,
    capMs: null,
    projects: projects.map((path) => ({ id: `prj_${path}`, path })),
    managers: managers.map((path) => ({ id: `usr_${path}`, path })),
    etag: `etag-${name}`,
    createdAt: CREATED,
    closedAt: null,
    ...rest,
  };
}

/** The tree of the spec: A weight 70 (A1 50, A2 30, A3 20), B weight 30. Names are in small letters here. */
export const ROWS: readonly BudgetRow[] = [
  row('root', null),
  row('a', 'root', { weight: 70, managers: ['lab/ann'] }),
  row('a1', 'a', { weight: 50, projects: ['lab/one'] }),
  row('a2', 'a', { weight: 30, projects: ['lab/two'] }),
  row('a3', 'a', { weight: 20, projects: ['lab/three'] }),
  row('b', 'root', { weight: 30, projects: ['lab/bee'] }),
];

export const leaf = (name: string, more: Partial<Omit<LeafFacts, 'id'>> = {}): LeafFacts => ({
  id: idOf(name),
  use: 0,
  committed: 0,
  unallocatedUse: 0,
  runningMilliGpus: 0,
  pendingMilliGpus: 0,
  openSessions: 0,
  ...more,
});

/** 64 GPUs for a week, nothing used. */
export const factsOf = (more: Partial<BudgetFacts> = {}): BudgetFacts => ({
  at: '2026-11-30T12:00:00.000Z',
  settings: { windowSeconds: 604_800, halfLifeSeconds: null, factors: {}, unallocatedGraceSeconds: 30 },
  capacity: fromGpuHours(64 * 168),
  presentMilliGpus: 64_000,
  rows: ROWS,
  leaves: [],
  ...more,
});
