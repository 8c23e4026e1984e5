import { median } from './report.js';

/** CPU time of the process: what others do on the machine counts little. */
export function cpuMs(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** The median of `runs`, after as many warm-ups: the pass of a planner that has run for a while. */
export function medianCpuMs(work: () => unknown, runs: number): number {
  for (let i = 0; i < runs; i += 1) work();
  return median(Array.from({ length: runs }, () => cpuMs(work)));
}
