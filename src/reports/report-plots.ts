import type { BudgetReport } from '../contract/index.js';
import { frame, line, type Plot, type PlotOption, type PlotPoint } from '../plots/plot.js';
import type { GpuTimeUnit } from './quantities.js';
import { classText, unitOf } from './report-sections.js';

/** More colours than this cannot be told apart. */
const BRANCHES_MAX = 9;

/** What can be drawn of it: nothing is, where there is nothing. */
export const reportPlots = (report: BudgetReport): readonly Plot[] => [
  waterfallPlot(report, unitOf(report)),
  ...(report.periods.length < 2 ? [] : [sharesPlot(report)]),
  ...(report.waits.every(({ curve }) => curve.length === 0) ? [] : [waitsPlot(report)]),
];

interface Step {
  readonly name: string;
  /** Where its bar begins: nothing is drawn below. */
  readonly base: number;
  /** By series. */
  readonly bars: Readonly<Record<string, number>>;
}

/** What is left in blue, and between two of them what was lost on the way. What was not measured is not drawn. */
function waterfallSteps({ waterfall: w }: BudgetReport): readonly Step[] {
  const left = (name: string, amount: number): Step => ({ name, base: 0, bars: { left: amount } });
  const lost = (name: string, from: number, to: number): Step => ({
    name,
    base: to,
    bars: { lost: Math.max(0, from - to) },
  });
  const { chargedGpuSeconds: charged, unallocatedGpuSeconds: unallocated, unchargedGpuSeconds: uncharged } = w;
  const assigned = { name: 'assigned', base: 0, bars: { charged, unallocated, 'not charged': uncharged } };
  const measured =
    w.usedGpuSeconds === null
      ? []
      : [
          lost('not measured', w.assignedGpuSeconds, w.measuredGpuSeconds),
          lost('not used', w.measuredGpuSeconds, w.usedGpuSeconds),
          left('used', w.usedGpuSeconds),
        ];
  return [
    left('total', w.totalGpuSeconds),
    lost('not healthy', w.totalGpuSeconds, w.healthyGpuSeconds),
    left('healthy', w.healthyGpuSeconds),
    lost('not assigned', w.healthyGpuSeconds, w.assignedGpuSeconds),
    assigned,
    ...measured,
  ];
}

const STEP_COLORS: Readonly<Record<string, string>> = {
  left: '#7aa6d6',
  lost: '#d9a6a0',
  charged: '#7aa6d6',
  unallocated: '#c6dbef',
  'not charged': '#bab0ac',
};

function waterfallPlot(report: BudgetReport, unit: GpuTimeUnit): Plot {
  const steps = waterfallSteps(report);
  const shown = (seconds: number): number => Number((seconds / unit.seconds).toFixed(1));
  const series = Object.entries(STEP_COLORS).map(([name, color]) => ({
    type: 'bar',
    name,
    stack: 'all',
    itemStyle: { color },
    label: { show: true, position: 'inside', color: '#1a1a1a' },
    data: steps.map(({ bars }) => (bars[name] === undefined || bars[name] === 0 ? null : shown(bars[name]))),
  }));
  const below = {
    type: 'bar',
    name: 'below',
    stack: 'all',
    itemStyle: { color: 'transparent' },
    data: steps.map(({ base }) => shown(base)),
  };
  return {
    name: 'waterfall',
    option: {
      ...frame(`From all GPU-time to what was used, ${unit.name}`, { x: '', y: unit.name }),
      legend: { top: 42, icon: 'roundRect', itemGap: 28, data: ['lost', 'charged', 'unallocated', 'not charged'] },
      xAxis: { type: 'category', data: steps.map(({ name }) => name), axisLabel: { interval: 0 } },
      series: [below, ...series],
    },
  };
}

/** Mean GPUs over time, stacked: what was charged to each branch, what was free, and what was not charged; healthy ones as a line. */
function sharesPlot(report: BudgetReport): Plot {
  const { periods } = report;
  const fromMs = Date.parse(report.from);
  const spanHours = (Date.parse(report.until) - fromMs) / 3_600_000;
  const axis =
    spanHours > 72
      ? { unit: 'days', ms: 86_400_000 }
      : spanHours > 1
        ? { unit: 'hours', ms: 3_600_000 }
        : { unit: 'seconds', ms: 1000 };
  const points = (of: (period: BudgetReport['periods'][number]) => number): readonly PlotPoint[] =>
    periods.map((period) => {
      const [start, end] = [Date.parse(period.from), Date.parse(period.until)];
      const gpus = of(period) / Math.max(1e-3, (end - start) / 1000);
      return [((start + end) / 2 - fromMs) / axis.ms, Number(gpus.toFixed(3))];
    });
  const area = (name: string, of: (period: BudgetReport['periods'][number]) => number): PlotOption => ({
    ...line(name, points(of)),
    stack: 'all',
    areaStyle: {},
  });
  return {
    name: 'shares',
    option: {
      ...frame('GPUs over time, by what is charged', { x: `${axis.unit} since the start`, y: 'GPUs' }),
      series: [
        ...branchesOf(report).map(({ name, of }) => area(name, of)),
        area('unallocated', ({ unallocatedGpuSeconds }) => unallocatedGpuSeconds),
        area('not charged', ({ unchargedGpuSeconds }) => unchargedGpuSeconds),
        {
          ...line(
            'healthy',
            points(({ healthyGpuSeconds }) => healthyGpuSeconds),
          ),
          lineStyle: { type: 'dashed', color: '#333333' },
          itemStyle: { color: '#333333' },
        },
      ],
    },
  };
}

interface Branch {
  readonly name: string;
  readonly of: (period: BudgetReport['periods'][number]) => number;
}
/** The largest by themselves, the rest together. */
function branchesOf({ branches, periods }: BudgetReport): readonly Branch[] {
  const all = branches.map((name, index) => {
    const of: Branch['of'] = ({ chargedByBranch }) => chargedByBranch[index] ?? 0;
    return { name, of, sum: periods.reduce((total, period) => total + of(period), 0) };
  });
  const bySize = all.toSorted((a, b) => b.sum - a.sum);
  const rest = bySize.slice(BRANCHES_MAX);
  const others: Branch = { name: 'others', of: (period) => rest.reduce((total, { of }) => total + of(period), 0) };
  return [...all.filter((one) => bySize.indexOf(one) < BRANCHES_MAX), ...(rest.length === 0 ? [] : [others])];
}

function waitsPlot({ waits }: BudgetReport): Plot {
  const longest = Math.max(...waits.map(({ maxSeconds }) => maxSeconds ?? 0));
  const axis =
    longest > 7200
      ? { unit: 'hours', seconds: 3600 }
      : longest > 120
        ? { unit: 'minutes', seconds: 60 }
        : { unit: 'seconds', seconds: 1 };
  return {
    name: 'waits',
    option: {
      ...frame('Share of the sessions that had their first GPU within', {
        x: `${axis.unit} since submission`,
        y: 'share',
      }),
      series: waits
        .filter(({ curve }) => curve.length > 0)
        .map((row) =>
          line(
            classText(row.class).replace('… ', ''),
            row.curve.map(({ share, seconds }) => [seconds / axis.seconds, share]),
          ),
        ),
    },
  };
}
