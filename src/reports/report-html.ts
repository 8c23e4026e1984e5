import type { BudgetReport } from '../contract/index.js';
import { svgOf } from '../plots/svg-of.js';
import { reportPlots } from './report-plots.js';
import { periodLine, type ReportSection, type ReportTable, reportSections, titleOf } from './report-sections.js';

const STYLE = `
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 1020px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
table { border-collapse: collapse; margin: .6rem 0; } th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: left; }
th { border-bottom-color: #888; font-weight: 600; } .number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
@media print { h2, figure, table { break-inside: avoid; } }`;

/** One file with all that it needs: it asks nothing of a server, and runs no script. What people named is escaped. */
export async function reportHtml(report: BudgetReport): Promise<string> {
  const plots = new Map<string, string>();
  for (const plot of reportPlots(report)) plots.set(plot.name, await svgOf(plot));
  const title = escapeHtml(titleOf(report));
  const sections = reportSections(report).map((section) => sectionHtml(section, plots));
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}
</style>
</head>
<body>
<h1>${title}</h1>
<p>${escapeHtml(periodLine(report))}</p>
${sections.join('\n')}
</body>
</html>
`;
}

function sectionHtml({ title, lines, table, plot }: ReportSection, plots: ReadonlyMap<string, string>): string {
  const svg = plot === undefined ? undefined : plots.get(plot);
  return [
    `<h2>${escapeHtml(title)}</h2>`,
    ...lines.map((line) => `<p>${escapeHtml(line)}</p>`),
    ...(table === null ? [] : [tableHtml(table)]),
    ...(svg === undefined ? [] : [`<figure>${svg}</figure>`]),
  ].join('\n');
}

function tableHtml({ head, rows, left }: ReportTable): string {
  const cells = (tag: 'th' | 'td', row: readonly string[]): string =>
    row.map((text, column) => `<${tag}${column < left ? '' : ' class="number"'}>${escapeHtml(text)}</${tag}>`).join('');
  const body = rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('\n');
  return `<table>\n<thead><tr>${cells('th', head)}</tr></thead>\n<tbody>\n${body}\n</tbody>\n</table>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
