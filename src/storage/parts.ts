import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Beside the folders, where no container sees a half of a file. */
export const PARTS_DIRECTORY = '.parts';
/** Files of single requests begin so: what a killed proxy left of them is worth nothing. */
export const PUT_PREFIX = 'put-';
/** Trees of clones begin so: a second try goes on with them. */
export const CLONE_PREFIX = 'clone-';

export const partsOfVolume = (volumePath: string): string => join(volumePath, PARTS_DIRECTORY);
export const tusOfVolume = (volumePath: string): string => join(volumePath, PARTS_DIRECTORY, 'tus');

/** Makes the places for parts, and removes those that nobody can go on with. Call it before the first request. */
export async function clearParts(volumePath: string): Promise<void> {
  await mkdir(tusOfVolume(volumePath), { recursive: true, mode: 0o700 });
  const names = await readdir(partsOfVolume(volumePath));
  const stale = names.filter((name) => name.startsWith(PUT_PREFIX));
  await Promise.all(stale.map((name) => rm(join(partsOfVolume(volumePath), name), { recursive: true, force: true })));
}
