import { frame, line, type Plot, type PlotOption } from '../../plots/plot.js';
import { occupancyCurve, shareCurves, waitCurve } from '../../simulator/curves.js';
import type { SimulationResult } from '../../simulator/run-simulation.js';

export interface NamedResult {
  readonly name: string;
  readonly result: SimulationResult;
}

/** A Gantt of more than this is a smear. */
const GANTT_JOBS_MAX = 60;
const HOUR_MS = 3_600_000;

export function plotsOf(runs: readonly NamedResult[]): readonly Plot[] {
  return [
    waits(runs),
    occupancy(runs),
    ...runs.map(shares),
    ...runs.filter(({ result }) => result.outcomes.length <= GANTT_JOBS_MAX).map(gantt),
  ];
}

const slug = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, '-');

const waits = (runs: readonly NamedResult[]): Plot => ({
  name: 'waits',
  option: {
    ...frame('Share of the jobs that started within', { x: 'hours since submission', y: 'share' }),
    series: runs.map(({ name, result }) => ({ ...line(name, waitCurve(result.outcomes)), step: 'end' })),
  },
});

const occupancy = (runs: readonly NamedResult[]): Plot => ({
  name: 'occupancy',
  option: {
    ...frame('GPUs held, of all there are', { x: 'hours', y: 'occupancy' }),
    series: runs.map(({ name, result }) => line(name, occupancyCurve(result))),
  },
});

const shares = ({ name, result }: NamedResult): Plot => ({
  name: `shares-${slug(name)}`,
  option: {
    ...frame(`GPUs held by project: ${name}`, { x: 'hours', y: 'share of all GPUs' }),
    series: shareCurves(result).map(({ project, points }) => ({
      ...line(project, points),
      stack: 'all',
      areaStyle: {},
    })),
  },
});

/** A bar for each job: light while it waits, and a series for each project while it holds its GPUs. */
function gantt({ name, result }: NamedResult): Plot {
  const rows = result.outcomes.map(({ job }) => `${job.name} (${job.gpus})`);
  const projects = [...new Set(result.outcomes.map(({ job }) => job.project))].toSorted();
  const bars = (project: string): readonly (readonly [number, number, number])[] =>
    result.outcomes.flatMap(({ job, held }, row) =>
      job.project === project ? held.map(({ fromMs, toMs }) => [row, fromMs / HOUR_MS, toMs / HOUR_MS] as const) : [],
    );
  const waiting = result.outcomes.map(
    ({ job, startedMs, endedMs }, row) =>
      [row, job.submittedMs / HOUR_MS, (startedMs ?? endedMs ?? result.endMs) / HOUR_MS] as const,
  );
  const series = (title: string, data: readonly (readonly number[])[], color?: string): PlotOption => ({
    type: 'custom',
    name: title,
    encode: { x: [1, 2], y: 0 },
    ...(color !== undefined && { itemStyle: { color } }),
    renderItem: bar,
    data,
  });
  return {
    name: `gantt-${slug(name)}`,
    option: {
      ...frame(`Jobs (GPUs): ${name}`, { x: 'hours', y: '' }),
      grid: { left: 120, right: 30, top: 80, bottom: 60 },
      yAxis: { type: 'category', data: rows, inverse: true, axisLabel: { interval: 0, fontSize: 9 } },
      series: [series('waits', waiting, '#dddddd'), ...projects.map((project) => series(project, bars(project)))],
    },
  };
}

/** What ECharts hands to `renderItem`, as far as a bar needs it. */
interface BarApi {
  readonly value: (dimension: number) => number;
  readonly coord: (point: readonly [number, number]) => readonly [number, number];
  readonly size: (of: readonly [number, number]) => readonly [number, number];
  readonly visual: (what: 'color') => string;
}

function bar(_: unknown, api: BarApi): PlotOption {
  const [left, middle] = api.coord([api.value(1), api.value(0)]);
  const [right] = api.coord([api.value(2), api.value(0)]);
  const height = api.size([0, 1])[1] * 0.7;
  return {
    type: 'rect',
    shape: { x: left, y: middle - height / 2, width: Math.max(1, right - left), height },
    style: { fill: api.visual('color') },
  };
}
