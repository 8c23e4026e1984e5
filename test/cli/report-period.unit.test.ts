import { expect, test } from 'vitest';
import { reportPeriod } from '../../src/cli/report-period.js';

const NOW = new Date('2026-11-30T20:30:00Z');
const week = (text: string) => reportPeriod({ week: text }, NOW);

test.each([
  ['2026-W48', '2026-11-23', '2026-11-30'],
  ['2026-W01', '2025-12-29', '2026-01-05'],
  ['2026-W53', '2026-12-28', '2027-01-04'],
  ['this', '2026-11-30', '2026-12-07'],
  ['last', '2026-11-23', '2026-11-30'],
])('the week %s is from Monday %s to the next in UTC', (text, from, until) => {
  expect(week(text)).toEqual({ from: `${from}T00:00:00.000Z`, until: `${until}T00:00:00.000Z` });
});

test.each(['2026-W00', '2025-W53', '2026-48', 'W48', 'next', '2026-W54'])('%s is no week', (text) => {
  expect(() => week(text)).toThrow(/--week: .* is no week: write 2026-W48, this or last/);
});

test('moments are dates, RFC 3339, or so long ago; none is left to the API', () => {
  expect(reportPeriod({ from: '2026-11-23', until: '2026-11-24T06:00:00+01:00' }, NOW)).toEqual({
    from: '2026-11-23T00:00:00.000Z',
    until: '2026-11-24T05:00:00.000Z',
  });
  expect(reportPeriod({ from: '2d' }, NOW)).toEqual({ from: '2026-11-28T20:30:00.000Z' });
  expect(reportPeriod({}, NOW)).toEqual({});
});

test('a week beside a moment, and what is no moment, are refused', () => {
  expect(() => reportPeriod({ week: 'this', from: '2d' }, NOW)).toThrow(/without --from and --until/);
  expect(() => reportPeriod({ from: 'yesterday' }, NOW)).toThrow(/--from: "yesterday" is not a moment/);
});
