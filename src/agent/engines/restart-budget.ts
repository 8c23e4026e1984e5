/** The pause before each restart in a row. */
const PAUSES_SECONDS = [2, 4, 8, 16, 32] as const;
/** Longer than five starts of a large model: one that crashes at each start is given up. */
const WINDOW_MS = 1_800_000;

/**
 * How long to wait before an engine is started again, in seconds; undefined: it has crashed too often, and is given up.
 * `crashesMs` are its crashes before this one: only those within the window count, so the budget refills.
 */
export function restartPauseSeconds(crashesMs: readonly number[], nowMs: number): number | undefined {
  return PAUSES_SECONDS[crashesMs.filter((at) => nowMs - at < WINDOW_MS).length];
}

export const CRASHES_KEPT = PAUSES_SECONDS.length;
