import { readFileSync } from 'node:fs';
import { median } from './report.js';

/** CPU time of the process: what others do on the machine counts little. */
export function cpuMs(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** What one row may take: a slow one is measured less often. */
const BUDGET_MS = 4_000;

/** The median of up to `runs`, after as many warm-ups: the pass of a planner that has run for a while. */
export function medianCpuMs(work: () => unknown, runs: number): number {
  const first = cpuMs(work);
  const times = Math.max(2, Math.min(runs, Math.floor(BUDGET_MS / 2 / first)));
  for (let i = 1; i < times; i += 1) work();
  return median(Array.from({ length: times }, () => cpuMs(work)));
}

const TICK_US = 10_000;

/** User and system time of another process so far, from /proc, in microseconds. */
export function cpuUs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}
