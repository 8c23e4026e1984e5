import { beforeAll, expect, test } from 'vitest';
import { svgOf } from '../../src/plots/svg-of.js';
import { duration, unitFor, withUnit } from '../../src/reports/quantities.js';
import { reportHtml } from '../../src/reports/report-html.js';
import { reportMarkdown } from '../../src/reports/report-markdown.js';
import { sampleReport } from './sample-report.js';

/** What draws is loaded once, and takes its time on a busy machine. */
beforeAll(() => svgOf({ name: 'none', option: {} }), 60_000);

const NASTY = '<script>alert(1)</script>|`x`';

test('the Markdown has every part, with numbers and their units', () => {
  const text = reportMarkdown(sampleReport());
  expect(text.match(/^##? .*/gm)).toEqual([
    '# GPU time of the cluster',
    '## From all GPU-time to what was used',
    '## The four metrics',
    '## Budgets',
    '## Time to the first GPU',
    '## Paid and idle',
    '## Broken contracts',
    '## Unallocated use',
  ]);
  expect(text).toContain('2026-11-23 00:00 UTC to 2026-11-30 00:00 UTC; groups: default.');
  expect(text).toContain('| part | GPU-h | of what is above it |\n| --- | ---: | ---: |\n| total | 10,752.0 | - |');
  expect(text).toContain('| healthy | 10,214.4 | 95.0 % of total |');
  expect(text).toContain('| availability | healthy / total |  | 95.0 % |');
  expect(text).toContain('measured in 94.7 % of the assigned time');
  expect(text).toContain('| A/A1 | 35.0 % | 3,575.0 | 3,000.0 | 0.839 | 3,763.2 | 3,000.0 | 0.0 |');
  expect(text).toMatch(/\| m ≤ 1 h \(debugging\) \| 39 \| .* min \| .* min \| .* min \| 1 \|/);
  expect(text).toContain('parked (ses\\_1) | ann | lab/p | A/A2 | 96.0 | 90.0 | 89.0 | 1.1 %');
  expect(text).toContain('attempt 2 | ann | lab/p | A/A2 | 2026-11-23 01:00 UTC | 4.0 h | 60.0 min | 8.0 |');
});

test('the HTML is one file that asks nobody for anything, with the three plots in it', async () => {
  const page = await reportHtml(sampleReport());
  expect(page.match(/<svg /g)).toHaveLength(3);
  expect(page).not.toMatch(/<script|<link|<img|src=|@import|url\(http/);
  expect(page).toContain("default-src 'none'");
  expect(page).toContain('<td class="number">10,752.0</td>');
});

test('names are text in both, whatever they hold', async () => {
  const report = sampleReport('root', NASTY);
  expect(await reportHtml(report)).toContain('&lt;script&gt;alert(1)&lt;/script&gt;|`x` (ses_1)');
  expect(reportMarkdown(report)).toContain('\\<script\\>alert(1)\\</script\\>\\|\\`x\\`');
});

test('a branch is told what it borrowed', () => {
  expect(reportMarkdown(sampleReport('A2'))).toContain(
    'It borrowed 355.0 GPU-h above that from budgets that did not ask.',
  );
});

test.each([
  [1_000_000, '277.8 GPU-h'],
  [2000, '2,000.0 GPU-s'],
])('%d GPU-seconds are written as %s', (seconds, text) => {
  expect(withUnit(seconds, unitFor(seconds))).toBe(text);
});

test.each([
  [0.34, '0.3 s'],
  [119, '119 s'],
  [120, '2.0 min'],
  [7200, '2.0 h'],
  [200_000, '2.3 d'],
  [null, '-'],
])('%s s are written as %s', (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});
