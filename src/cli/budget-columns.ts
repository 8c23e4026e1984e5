import type { Budget, BudgetChange } from '../contract/index.js';
import { formatAge, formatSeconds } from './format-amounts.js';
import { gpuHours, gpus, percent, ratioText } from './gpu-time-text.js';
import type { Shown } from './output.js';
import type { Column } from './table.js';

/** What a budget may use, has used, and is bound to use; GPU-time in GPU-hours of the window. */
export const BUDGET_FIGURES: readonly Column<Budget>[] = [
  { head: 'WEIGHT', of: ({ weight }) => String(weight) },
  { head: 'CLAIM', of: ({ use }) => percent(use.claim) },
  { head: 'ALLOCATED', of: ({ use }) => gpuHours(use.allocatedGpuSeconds) },
  { head: 'USED', of: ({ use }) => gpuHours(use.usedGpuSeconds) },
  { head: 'COMMITTED', of: ({ use }) => gpuHours(use.committedGpuSeconds) },
  { head: 'RATIO', of: ({ use }) => ratioText(use.ratio) },
  { head: 'EXPECTED', of: ({ use }) => ratioText(use.expectedRatio) },
  { head: 'RUNNING', of: ({ use }) => gpus(use.runningGpus) },
  { head: 'WAITING', of: ({ use }) => gpus(use.pendingGpus) },
  { head: 'UNALLOCATED', of: ({ use }) => gpuHours(use.unallocatedGpuSeconds), isWide: true },
  { head: 'PROJECTS', of: ({ projects }) => projects.join(',') || '-', isWide: true },
  { head: 'MANAGERS', of: ({ managers }) => managers.join(',') || '-', isWide: true },
  { head: 'ID', of: ({ id }) => id, isWide: true },
];

export const BUDGET: Shown<Budget> = {
  none: 'no budgets',
  nameOf: ({ path }) => path,
  idOf: ({ id }) => id,
  columns: [{ head: 'NAME', of: ({ path }) => path }, ...BUDGET_FIGURES],
};

/** A change's value in words: `3`, `lab/a, lab/b`, `none`; of a creation `weight 3; projects lab/a`, without what it left out. */
export function valueText(value: unknown): string {
  if (isNone(value)) return 'none';
  if (Array.isArray(value)) return value.map(String).join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  const told = Object.entries(value).filter(([, part]) => !isNone(part));
  return told.map(([field, part]) => `${field} ${fieldText(field, part)}`).join('; ') || 'none';
}

/** A runtime is told as one: `4h` of 14400 seconds. */
const fieldText = (field: string, value: unknown): string =>
  field === 'minRuntimeCapSeconds' && typeof value === 'number' ? formatSeconds(value) : valueText(value);

const isNone = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0);

export const BUDGET_CHANGE: Shown<BudgetChange> = {
  none: 'nothing was changed',
  nameOf: ({ budget, field }) => `${budget} ${field}`,
  idOf: ({ seq }) => String(seq),
  columns: [
    { head: 'BUDGET', of: ({ budget }) => budget },
    { head: 'AGE', of: ({ at }, now) => formatAge(at, now) },
    { head: 'BY', of: ({ actor }) => actor },
    { head: 'FIELD', of: ({ field }) => field },
    { head: 'BEFORE', of: ({ field, before }) => fieldText(field, before) },
    { head: 'AFTER', of: ({ field, after }) => fieldText(field, after) },
    { head: 'TIME', of: ({ at }) => at, isWide: true },
  ],
};
