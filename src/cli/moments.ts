import { parseDurationMilliseconds, type Written } from './amounts.js';
import { usageError } from './cli-error.js';

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;
const DAY_MILLISECONDS = 86_400_000;

/**
 * A moment ahead, in UTC: `18:00` is the next one by this machine's clock, `+2h` counts from now, and RFC 3339 is taken as it
 * stands. A time of the day that is past means tomorrow's.
 */
export function parseMoment({ name, text }: Written, now: Date): string {
  if (text.startsWith('+')) {
    return new Date(now.getTime() + parseDurationMilliseconds({ name, text: text.slice(1) })).toISOString();
  }
  const clock = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (clock !== null) {
    const at = new Date(now);
    at.setHours(Number(clock[1]), Number(clock[2]), 0, 0);
    return new Date(at.getTime() + (at <= now ? DAY_MILLISECONDS : 0)).toISOString();
  }
  if (!RFC_3339.test(text) || Number.isNaN(Date.parse(text))) {
    throw usageError(`${name}: "${text}" is not a moment: write 18:00, +2h or 2026-11-30T18:00:00Z`);
  }
  return new Date(text).toISOString();
}
