import type { CheckResult } from './check.js';
import type { StatusReport } from './status.js';

/** Columns as wide as their widest cell, two blanks between. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

export function renderUrls(urls: Readonly<Record<string, string>>): string[] {
  return columns(Object.entries(urls).map(([name, url]) => [name, url]));
}

const health = (healthy: boolean | null): string => (healthy === null ? '-' : healthy ? 'yes' : 'NO');

export function renderStatus(report: StatusReport): string[] {
  const head = ['PROCESS', 'STATE', 'HEALTHY', 'PID', 'RESTARTS', 'SINCE', 'DETAIL'];
  const rows = report.processes.map(({ name, state, healthy, pid, restarts, since, detail }) => [
    ...[name, state, health(healthy), String(pid ?? '-'), String(restarts), since, detail],
  ]);
  const title = `${report.state_directory}: ${report.phase}`;
  if (rows.length === 0) return [title];
  return [title, '', ...columns([head, ...rows]), '', ...renderUrls(report.urls)];
}

export function renderChecks(results: readonly CheckResult[]): string[] {
  const rows = columns(results.map(({ verdict, name, detail }) => [verdict, name, detail]));
  return results.flatMap(({ mend }, index) => [rows[index] ?? '', ...(mend === '' ? [] : [`      mend: ${mend}`])]);
}
