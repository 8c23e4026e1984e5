export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** A part of a cell, and where its sum is: in buckets of a day or an hour, or to be summed from the intervals themselves. */
export interface Piece {
  readonly size: 'day' | 'hour' | 'exact';
  readonly cell: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

const floor = (ms: number, unit: number): number => Math.floor(ms / unit) * unit;
const ceil = (ms: number, unit: number): number => Math.ceil(ms / unit) * unit;

/**
 * Each cell between two edges as whole days, the whole hours beside them, and what an hour's edge cuts. Nothing that is folded
 * lies after `atMs`, so a cell that reaches it takes its last bucket whole.
 */
export function cover(edgesMs: readonly number[], atMs: number): readonly Piece[] {
  return edgesMs.slice(0, -1).flatMap((fromMs, cell) => {
    const untilMs = edgesMs[cell + 1] ?? fromMs;
    const isLast = untilMs >= atMs;
    return coverOne(fromMs, untilMs, isLast)
      .filter((piece) => piece.untilMs > piece.fromMs)
      .map((piece) => ({ ...piece, cell }));
  });
}

function coverOne(fromMs: number, untilMs: number, isLast: boolean): readonly Omit<Piece, 'cell'>[] {
  const end = (unit: number): number => (isLast ? ceil(untilMs, unit) : floor(untilMs, unit));
  const hours = { from: ceil(fromMs, HOUR_MS), until: end(HOUR_MS) };
  if (hours.from >= hours.until) return [{ size: 'exact', fromMs, untilMs }];
  const days = { from: ceil(hours.from, DAY_MS), until: end(DAY_MS) };
  const head = { size: 'exact', fromMs, untilMs: hours.from } as const;
  const tail = { size: 'exact', fromMs: Math.min(hours.until, untilMs), untilMs } as const;
  if (days.from >= days.until) return [head, { size: 'hour', fromMs: hours.from, untilMs: hours.until }, tail];
  return [
    head,
    { size: 'hour', fromMs: hours.from, untilMs: days.from },
    { size: 'day', fromMs: days.from, untilMs: days.until },
    { size: 'hour', fromMs: days.until, untilMs: hours.until },
    tail,
  ];
}
