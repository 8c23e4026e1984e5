import type { BudgetFigures } from '../../simulator/budget-figures.js';
import type { Figures } from '../../simulator/summarize.js';
import { type Column, renderTable } from '../table.js';
import type { Compared, Comparison } from './simulate.js';

type Row = Figures & { readonly name: string; readonly occupancy: number | null };

const hours = (value: number | null): string => (value === null ? '-' : (value / 3600).toFixed(2));
const percent = (value: number | null): string => (value === null ? '' : `${(100 * value).toFixed(1)}%`);
const ofFigures = (head: string, of: (row: Row) => string): Column<Row> => ({ head, of });

const COLUMNS: readonly Column<Row>[] = [
  ofFigures('NAME', ({ name }) => name),
  ofFigures('JOBS', ({ jobs }) => String(jobs)),
  ofFigures('DONE', ({ ends }) => String(ends.done)),
  ofFigures('WAIT h MEAN', ({ wait }) => hours(wait.meanSeconds)),
  ofFigures('MEDIAN', ({ wait }) => hours(wait.medianSeconds)),
  ofFigures('P95', ({ wait }) => hours(wait.p95Seconds)),
  ofFigures('MAX', ({ wait }) => hours(wait.maxSeconds)),
  ofFigures('FIRST GPU', ({ firstGpu }) => hours(firstGpu.medianSeconds)),
  ofFigures('OCCUPANCY', ({ occupancy }) => percent(occupancy)),
  ofFigures('SHARE', ({ share }) => percent(share)),
  ofFigures('GPU-h', ({ heldGpuHours }) => heldGpuHours.toFixed(1)),
  ofFigures('LOST', ({ lostGpuHours }) => lostGpuHours.toFixed(1)),
  ofFigures('PARKED', ({ parkedGpuHours }) => parkedGpuHours.toFixed(1)),
  ofFigures('STOPS', ({ stops }) => String(stops)),
  ofFigures('REFUSED', ({ ends }) => String(ends.refused)),
];

/** For people: the policies side by side, then each one's projects, then who gained what of whom. */
export function comparisonText(comparison: Comparison): string {
  const { jobs, gpuCount, offeredLoad, policies } = comparison;
  return [
    `${jobs} jobs on ${gpuCount} GPUs, offered load ${offeredLoad.toFixed(2)}; waits in hours; occupancy and shares while jobs came`,
    table(policies.map(({ name, summary }) => ({ ...summary.overall, name, occupancy: summary.occupancyWhileComing }))),
    ...policies.map(({ name, summary }) =>
      [`\n${name}`, table(summary.projects.map((one) => ({ ...one, name: one.project, occupancy: null })))].join('\n'),
    ),
    ...policies.flatMap(budgetsText),
    ...policies.map(hostsLine),
    ...policies.flatMap((one) => zeroSumLine(one, policies[0]?.name ?? '')),
  ].join('\n');
}

const table = (rows: readonly Row[]): string => renderTable(rows, COLUMNS, { isWide: false, now: new Date(0) });

const ofBudget = (head: string, of: (one: BudgetFigures) => string): Column<BudgetFigures> => ({ head, of });
const gpuHours = (value: number): string => value.toFixed(1);

const BUDGET_COLUMNS: readonly Column<BudgetFigures>[] = [
  ofBudget('BUDGET', ({ budget, depth }) => `${'  '.repeat(depth)}${budget.split('/').at(-1)}`),
  ofBudget('CLAIM', ({ claim }) => percent(claim)),
  ofBudget('ALLOCATED GPU-h', ({ allocatedGpuHours }) => gpuHours(allocatedGpuHours)),
  ofBudget('USED', ({ usedGpuHours }) => gpuHours(usedGpuHours)),
  ofBudget('RATIO', ({ ratio }) => (ratio === null ? '-' : ratio.toFixed(3))),
  ofBudget('LAST WINDOW', ({ lastWindow }) =>
    lastWindow === null || lastWindow.allocatedGpuHours === 0
      ? '-'
      : (lastWindow.usedGpuHours / lastWindow.allocatedGpuHours).toFixed(3),
  ),
  ofBudget('UNALLOCATED', ({ unallocatedGpuHours }) => gpuHours(unallocatedGpuHours)),
  ofBudget('IMPACT', ({ impact }) => impact.toFixed(3)),
  ofBudget('WAIT h MEDIAN', ({ wait }) => hours(wait.medianSeconds)),
  ofBudget('P95', ({ wait }) => hours(wait.p95Seconds)),
  ofBudget('STOPS', ({ stops }) => String(stops)),
  ofBudget('LOST', ({ lostGpuHours }) => gpuHours(lostGpuHours)),
];

/** The pyramid, then the tree with what each budget got. */
function budgetsText({ name, budgets }: Compared): readonly string[] {
  if (budgets === null) return [];
  const { availability, occupancy, utilization, impact, allocatedOfAssigned } = budgets.pyramid;
  const whole = `availability ${percent(availability)} · occupancy ${percent(occupancy)} · utilization ${percent(utilization)} · impact ${impact.toFixed(3)}; charged of what was held ${percent(allocatedOfAssigned)}`;
  return [
    `\n${name}, budgets with a window of ${budgets.windowHours} h: ${whole}`,
    renderTable(budgets.budgets, BUDGET_COLUMNS, { isWide: false, now: new Date(0) }),
  ];
}

function hostsLine({ name, hosts }: Compared, index: number): string {
  const { samples, byItself, byContract, limitHours } = hosts;
  const text = `${name}: of ${samples} marked hosts ${byItself.overLimit} are not empty within ${limitHours} h if nobody is stopped, ${byContract.overLimit} by minimum runtimes`;
  return index === 0 ? `\n${text}` : text;
}

function zeroSumLine({ name, zeroSum }: Compared, first: string): readonly string[] {
  if (zeroSum === null) return [];
  const { gains, losses, occupancyChange, holds } = zeroSum;
  const sum = `gains ${gains.toFixed(1)} − losses ${losses.toFixed(1)} = change of occupancy ${occupancyChange.toFixed(1)} GPU-h`;
  return [`${name} against ${first}: ${sum}${holds ? '' : ' DOES NOT HOLD'}`];
}
