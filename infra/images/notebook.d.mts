export const NOTEBOOK_IMAGE: string;
/** The image in the engine: one call when it is there, seconds from the cache, minutes the first time. Throws `SetupError`. */
export function ensureNotebookImage(): Promise<{ readonly name: string; readonly how: string }>;
