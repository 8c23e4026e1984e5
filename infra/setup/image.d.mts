export const BUSYBOX_IMAGE: 'berth/busybox:test';
export const PYTHON_IMAGE: 'berth/python:test';
export function ensureImages(
  names?: readonly string[],
): Promise<{ readonly names: readonly string[]; readonly made: readonly string[] }>;
/** The image that others stand on; `source` names its recipe. */
export function ensurePythonImage(): Promise<{ readonly name: string; readonly source: string }>;
