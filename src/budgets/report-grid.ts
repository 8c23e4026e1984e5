const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Widths that people read off an axis. */
const WIDTHS_MS = [
  ...[1, 2, 5, 10, 30].map((count) => count * SECOND_MS),
  ...[1, 2, 5, 10, 30].map((count) => count * MINUTE_MS),
  ...[1, 3, 6, 12].map((count) => count * HOUR_MS),
  ...[1, 2, 7, 14, 28].map((count) => count * DAY_MS),
];
const PERIODS_MAX = 60;

export interface ReportGrid {
  /** Of the equal parts that are shown, first and last cut by the period; ascending, from its start to its end. */
  readonly periodEdgesMs: readonly number[];
  /** Those and every moment at which claims changed: within a cell claims are constant, so its parts are plain products. */
  readonly edgesMs: readonly number[];
}

/** Parts of a round width, at most 60, at multiples of it since 1970 (so days begin at midnight UTC). */
export function reportGrid(
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
  changesMs: readonly number[],
): ReportGrid {
  const spanMs = untilMs - fromMs;
  const widthMs =
    WIDTHS_MS.find((width) => spanMs / width <= PERIODS_MAX) ?? Math.ceil(spanMs / PERIODS_MAX / DAY_MS) * DAY_MS;
  const inside = (moment: number): boolean => moment > fromMs && moment < untilMs;
  const steps: number[] = [];
  for (let at = Math.ceil(fromMs / widthMs) * widthMs; at < untilMs; at += widthMs) steps.push(at);
  const periodEdgesMs = [fromMs, ...steps.filter(inside), untilMs];
  const all = new Set([...periodEdgesMs, ...changesMs.filter(inside)]);
  return { periodEdgesMs, edgesMs: [...all].toSorted((a, b) => a - b) };
}
