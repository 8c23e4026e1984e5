import type { Timestamp } from '../contract/index.js';

export interface Contract {
  /** When all kernels of this attempt ran; null while it starts. */
  readonly startedAt: Timestamp | null;
  readonly minRuntimeSeconds: number;
}

/** The end of the minimum runtime, in epoch milliseconds: protected in [start, start + minRuntime). null while it starts. */
export const protectedUntilMs = ({ startedAt, minRuntimeSeconds }: Contract): number | null =>
  startedAt === null ? null : Date.parse(startedAt) + minRuntimeSeconds * 1000;

/** The same as a timestamp. Each attempt is protected anew; one that has not started has no end yet, and is protected. */
export function protectedUntil(contract: Contract): Timestamp | null {
  const until = protectedUntilMs(contract);
  return until === null ? null : new Date(until).toISOString();
}
