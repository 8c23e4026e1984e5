/** Replicas that failed one after another, none having served for long in between. */
export interface Failures {
  readonly inARow: number;
  readonly lastMs: number;
}

export const NO_FAILURES: Failures = { inARow: 0, lastMs: 0 };

const FIRST_MS = 10_000;
const LONGEST_MS = 300_000;
/** Serving for so long ends a row: a container that crashes right after its start proves nothing by its start. */
export const STEADY_MS = 60_000;
/** A replica's row may be older than the turn that made it says: the turn waited for its lock. */
const TOLERANCE_MS = 1_000;

/** The first death is made up for at once; then 10, 20, 40 … 300 s after the second, third, fourth … in a row. */
export const backOffMs = (inARow: number): number =>
  inARow <= 1 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(inARow - 2, 10));

/** When the next replica may be made. */
export const nextCreateMs = ({ inARow, lastMs }: Failures): number => lastMs + backOffMs(inARow);

/**
 * After one more. Those that were made before the last failure are one with it: five that are killed together, or five of one
 * bad revision, are one step of the row. One that had served for long begins a row.
 */
export function afterFailure(
  before: Failures,
  { createdMs, servedMs }: { readonly createdMs: number; readonly servedMs: number },
  nowMs: number,
): Failures {
  if (before.inARow > 0 && createdMs < before.lastMs - TOLERANCE_MS) return before;
  return { inARow: servedMs >= STEADY_MS ? 1 : before.inARow + 1, lastMs: nowMs };
}

/** A replica that was made after the last failure has served for long: what comes next is a first failure again. */
export const endsRow = (
  { inARow, lastMs }: Failures,
  { createdMs, servedMs }: { readonly createdMs: number; readonly servedMs: number },
): boolean => inARow > 0 && servedMs >= STEADY_MS && createdMs >= lastMs - TOLERANCE_MS;
