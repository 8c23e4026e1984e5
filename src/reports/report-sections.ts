import type { BudgetReport, WaitClass } from '../contract/index.js';
import { amount, duration, type GpuTimeUnit, moment, percent, unitFor, withUnit } from './quantities.js';

export interface ReportTable {
  readonly head: readonly string[];
  /** All columns but the first are numbers, unless the head says otherwise with `left`. */
  readonly rows: readonly (readonly string[])[];
  readonly left: number;
}
/** A part of a report, for people: Markdown and HTML are both made of these. */
export interface ReportSection {
  readonly title: string;
  readonly lines: readonly string[];
  readonly table: ReportTable | null;
  /** The plot that belongs here, by name. */
  readonly plot?: 'waterfall' | 'shares' | 'waits';
}

const SHORT_MS = 3_600_000;

export const unitOf = ({ waterfall }: BudgetReport): GpuTimeUnit =>
  unitFor(Math.max(waterfall.totalGpuSeconds, waterfall.assignedGpuSeconds));

export const isShortPeriod = ({ from, until }: BudgetReport): boolean =>
  Date.parse(until) - Date.parse(from) <= SHORT_MS;

export const titleOf = ({ budget }: BudgetReport): string =>
  budget === 'root' ? 'GPU time of the cluster' : `GPU time of ${budget}`;

export function periodLine(report: BudgetReport): string {
  const isShort = isShortPeriod(report);
  const groups =
    report.groups.length === 0 ? 'no group orders by fair share now' : `groups: ${report.groups.join(', ')}`;
  return `${moment(report.from, isShort)} to ${moment(report.until, isShort)}; ${groups}. GPU-time is in units of a factor-1 GPU.`;
}

export function reportSections(report: BudgetReport): readonly ReportSection[] {
  const unit = unitOf(report);
  return [
    waterfall(report, unit),
    metrics(report),
    budgets(report, unit),
    waits(report),
    paidAndIdle(report, unit),
    broken(report, unit),
    unallocated(report, unit),
  ];
}

function waterfall({ waterfall: w, budget }: BudgetReport, unit: GpuTimeUnit): ReportSection {
  const row = (name: string, seconds: number | null, [of, whole]: readonly [string, number]): readonly string[] => [
    name,
    seconds === null ? 'not measured' : amount(seconds, unit),
    seconds === null || whole === 0 ? '-' : `${percent(seconds / whole)} of ${of}`,
  ];
  const borrowed = w.assignedGpuSeconds - w.healthyGpuSeconds;
  return {
    title: 'From all GPU-time to what was used',
    lines:
      budget === 'root'
        ? []
        : [
            'Total and healthy are this budget’s claim of the cluster’s.',
            ...(borrowed > 0
              ? [`It borrowed ${withUnit(borrowed, unit)} above that from budgets that did not ask.`]
              : []),
          ],
    table: {
      head: ['part', unit.name, 'of what is above it'],
      left: 1,
      rows: [
        row('total', w.totalGpuSeconds, ['', 0]),
        row('healthy', w.healthyGpuSeconds, ['total', w.totalGpuSeconds]),
        row('assigned', w.assignedGpuSeconds, ['healthy', w.healthyGpuSeconds]),
        row('… charged to a budget (allocated)', w.chargedGpuSeconds, ['assigned', w.assignedGpuSeconds]),
        row('… unallocated', w.unallocatedGpuSeconds, ['assigned', w.assignedGpuSeconds]),
        row('… not charged (failed or broken off by the platform)', w.unchargedGpuSeconds, [
          'assigned',
          w.assignedGpuSeconds,
        ]),
        row('measured', w.measuredGpuSeconds, ['assigned', w.assignedGpuSeconds]),
        row('used', w.usedGpuSeconds, ['measured', w.measuredGpuSeconds]),
      ],
    },
    plot: 'waterfall',
  };
}

function metrics({ pyramid: p }: BudgetReport): ReportSection {
  const reason = p.utilizationReason === null ? '' : p.utilizationReason;
  return {
    title: 'The four metrics',
    lines: [],
    table: {
      head: ['metric', 'is', 'note', 'value'],
      left: 3,
      rows: [
        ['availability', 'healthy / total', '', percent(p.availability)],
        ['occupancy', 'assigned / healthy', '', percent(p.occupancy)],
        ['utilization', 'used / measured', reason, percent(p.utilization)],
        ['impact', 'Σ min(U, A, D) / Σ min(A, D)', '', percent(p.impact)],
        ['allocated / assigned', 'charged / assigned', '', percent(p.allocatedOfAssigned)],
      ],
    },
  };
}

const budgets = ({ leaves }: BudgetReport, unit: GpuTimeUnit): ReportSection => ({
  title: 'Budgets',
  lines: [
    'Allocated (A) is the claim of the healthy time, with the weights as they were; demand (D) is allocated work that waited and could start, or held its GPUs; served is min(U, A, D).',
  ],
  table: {
    head: [
      'budget',
      'claim',
      ...['allocated A', 'used U'].map((name) => `${name}, ${unit.name}`),
      'U / A',
      ...['demand D', 'served', 'unallocated'].map((name) => `${name}, ${unit.name}`),
    ],
    left: 1,
    rows: leaves.map((leaf) => [
      leaf.state === 'closed' ? `${leaf.budget} (closed)` : leaf.budget,
      percent(leaf.claim),
      amount(leaf.allocatedGpuSeconds, unit),
      amount(leaf.usedGpuSeconds, unit),
      leaf.ratio === null ? '-' : leaf.ratio.toFixed(3),
      amount(leaf.demandGpuSeconds, unit),
      amount(leaf.servedGpuSeconds, unit),
      amount(leaf.unallocatedGpuSeconds, unit),
    ]),
  },
  plot: 'shares',
});

const CLASS_NAMES: Readonly<Record<WaitClass, string>> = {
  short: 'm ≤ 1 h (debugging)',
  'short-charged': '… charged, 0 < m ≤ 1 h',
  unallocated: '… unallocated, m = 0',
  long: 'm > 1 h',
};
export const classText = (name: WaitClass): string => CLASS_NAMES[name];

const waits = ({ waits: rows }: BudgetReport): ReportSection => ({
  title: 'Time to the first GPU',
  lines: ['From submission (or the start that was asked for) until all kernels ran, by minimum runtime m.'],
  table: {
    head: ['sessions', 'started', 'median', 'p95', 'longest', 'waiting at the end'],
    left: 1,
    rows: rows.map((row) => [
      CLASS_NAMES[row.class],
      String(row.started),
      duration(row.medianSeconds),
      duration(row.p95Seconds),
      duration(row.maxSeconds),
      String(row.waiting),
    ]),
  },
  plot: 'waits',
});

function paidAndIdle({ paidIdle }: BudgetReport, unit: GpuTimeUnit): ReportSection {
  const { belowPercent, reason, sessions, paidGpuSeconds, idleGpuSeconds } = paidIdle;
  const line =
    reason !== null
      ? `Nothing can be said: ${reason}.`
      : sessions.length === 0
        ? `None: no charged session used less than ${belowPercent} % of its measured time.`
        : `Charged sessions that used less than ${belowPercent} % of their measured time: ${sessions.length}, which paid ${withUnit(paidGpuSeconds, unit)} and left ${withUnit(idleGpuSeconds, unit)} idle.`;
  return {
    title: 'Paid and idle',
    lines: [line],
    table: tableOf(
      [
        'session',
        'owner',
        'project',
        'budget',
        `paid, ${unit.name}`,
        `measured, ${unit.name}`,
        `idle, ${unit.name}`,
        'use',
      ],
      sessions.map((one) => [
        `${one.name} (${one.sessionId})`,
        one.user,
        one.project,
        one.budget ?? '-',
        amount(one.paidGpuSeconds, unit),
        amount(one.measuredGpuSeconds, unit),
        amount(one.idleGpuSeconds, unit),
        percent(one.utilization),
      ]),
      4,
    ),
  };
}

const broken = (report: BudgetReport, unit: GpuTimeUnit): ReportSection => ({
  title: 'Broken contracts',
  lines: report.brokenContracts.length === 0 ? ['None: nothing was stopped within its minimum runtime.'] : [],
  table: tableOf(
    ['session', 'owner', 'project', 'budget', 'stopped', 'promised', 'ran', `not charged, ${unit.name}`],
    report.brokenContracts.map((one) => [
      `${one.name} (${one.sessionId}), attempt ${one.attempt}`,
      one.user,
      one.project,
      one.budget ?? '-',
      moment(one.at, isShortPeriod(report)),
      duration(one.promisedSeconds),
      duration(one.ranSeconds),
      amount(one.unchargedGpuSeconds, unit),
    ]),
    5,
  ),
});

const unallocated = (report: BudgetReport, unit: GpuTimeUnit): ReportSection => ({
  title: 'Unallocated use',
  lines:
    report.unallocated.length === 0
      ? ['None.']
      : ['Free, and always preemptible: by budget, or by project without one.'],
  table: tableOf(
    ['budget', 'project', unit.name],
    report.unallocated.map(({ budget, project, gpuSeconds }) => [
      budget ?? '-',
      project ?? '-',
      amount(gpuSeconds, unit),
    ]),
    2,
  ),
});

const tableOf = (head: readonly string[], rows: ReportTable['rows'], left: number): ReportTable | null =>
  rows.length === 0 ? null : { head, rows, left };
