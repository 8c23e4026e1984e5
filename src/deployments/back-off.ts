/** Replicas that failed one after another, none having served in between. */
export interface Failures {
  readonly inARow: number;
  readonly lastMs: number;
}

const FIRST_MS = 10_000;
const LONGEST_MS = 300_000;

/** 10, 20, 40 … 300 s after the first, second, third … failure in a row; 0 without one. */
export const backOffMs = (inARow: number): number =>
  inARow <= 0 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(inARow - 1, 10));

/** When the next replica may be made. */
export const nextCreateMs = ({ inARow, lastMs }: Failures): number => (inARow === 0 ? 0 : lastMs + backOffMs(inARow));
