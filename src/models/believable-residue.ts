import type { Bytes } from './tenant.js';

/** What a GPU was measured to give one engine; null: not known. */
export interface SleepMeasure {
  readonly footprintBytes: Bytes;
  /** Before it slept. */
  readonly awakeBytes: Bytes | null;
  readonly asleepBytes: Bytes | null;
}

/**
 * The residue of a sleeper, or null where the drop is too small to believe, so that its reservation is kept: at least half of
 * what it took, or of its footprint where that is less, has to be gone.
 */
export function believableResidue({ footprintBytes, awakeBytes, asleepBytes }: SleepMeasure): Bytes | null {
  if (asleepBytes === null || asleepBytes < 0) return null;
  const before = awakeBytes ?? footprintBytes;
  return (before - asleepBytes) * 2 >= Math.min(footprintBytes, before) ? asleepBytes : null;
}
