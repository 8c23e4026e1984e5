import type { BudgetReport } from '../contract/index.js';
import { periodLine, type ReportSection, type ReportTable, reportSections, titleOf } from './report-sections.js';

/** The whole report in Markdown: titles, lines and tables, without the plots. What people named is shown as text, whatever it holds. */
export const reportMarkdown = (report: BudgetReport): string =>
  [`# ${plain(titleOf(report))}`, plain(periodLine(report)), ...reportSections(report).map(sectionText), '']
    .join('\n\n')
    .replace(/\n{3,}/g, '\n\n');

const sectionText = ({ title, lines, table }: ReportSection): string =>
  [`## ${plain(title)}`, ...lines.map(plain), ...(table === null ? [] : [tableText(table)])].join('\n\n');

function tableText({ head, rows, left }: ReportTable): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(plain).join(' | ')} |`;
  const rule = `|${head.map((_, column) => (column < left ? ' --- ' : ' ---: ')).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

/** No cell ends early, and nothing is taken for markup. */
const plain = (text: string): string =>
  text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').replace(/[\\`*_[\]<>|#]/g, (sign) => `\\${sign}`);
