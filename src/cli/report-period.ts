import { parseDurationMilliseconds } from './amounts.js';
import { usageError } from './cli-error.js';

export interface PeriodFlags {
  readonly week?: string;
  readonly from?: string;
  readonly until?: string;
}
export interface ReportPeriod {
  readonly from?: string;
  readonly until?: string;
}

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;

/** The period that is asked for; without any the API takes the window that ends now. Weeks are ISO weeks in UTC, from Monday. */
export function reportPeriod({ week, from, until }: PeriodFlags, now: Date): ReportPeriod {
  if (week !== undefined && (from !== undefined || until !== undefined)) {
    throw usageError('--week goes without --from and --until');
  }
  if (week !== undefined) {
    const start = weekStart(week, now);
    return { from: new Date(start).toISOString(), until: new Date(start + WEEK_MS).toISOString() };
  }
  return {
    ...(from === undefined ? {} : { from: pastMoment('--from', from, now) }),
    ...(until === undefined ? {} : { until: pastMoment('--until', until, now) }),
  };
}

function weekStart(text: string, now: Date): number {
  if (text === 'this') return mondayOf(now.getTime());
  if (text === 'last') return mondayOf(now.getTime()) - WEEK_MS;
  const [, year = '', number = ''] = /^(\d{4})-W(\d{2})$/.exec(text) ?? [];
  // The fourth of January always lies in the first week.
  const start = mondayOf(Date.UTC(Number(year), 0, 4)) + (Number(number) - 1) * WEEK_MS;
  const isOfYear = new Date(start + 3 * DAY_MS).getUTCFullYear() === Number(year);
  if (year === '' || number === '00' || !isOfYear) {
    throw usageError(`--week: "${text}" is no week: write 2026-W48, this or last`);
  }
  return start;
}

function mondayOf(ms: number): number {
  const midnight = Math.floor(ms / DAY_MS) * DAY_MS;
  return midnight - ((new Date(midnight).getUTCDay() + 6) % 7) * DAY_MS;
}

/** `7d` is so long ago; a date is its midnight in UTC; RFC 3339 is taken as it stands. */
function pastMoment(name: string, text: string, now: Date): string {
  if (/^\d+(\.\d+)?(s|m|h|d)/.test(text)) {
    return new Date(now.getTime() - parseDurationMilliseconds({ name, text })).toISOString();
  }
  const isWritten = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  if (!isWritten || Number.isNaN(Date.parse(text))) {
    throw usageError(`${name}: "${text}" is not a moment: write 2026-11-23, 2026-11-23T18:00:00Z or 7d (so long ago)`);
  }
  return new Date(text).toISOString();
}
