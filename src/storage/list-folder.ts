import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import type { FolderEntry } from '../contract/index.js';
import { type FilePlace, inDirectory, walkTree } from './walk.js';

export const ENTRIES_MAX = 100_000;

export interface Listing {
  readonly items: readonly FolderEntry[];
  /** There are more than are listed. */
  readonly truncated: boolean;
}

const entryOf = (path: string, stat: Stats): FolderEntry => ({
  path,
  type: stat.isDirectory() ? 'directory' : 'file',
  bytes: stat.isFile() ? stat.size : 0,
  modifiedAt: stat.mtime.toISOString(),
});
const isShown = (stat: Stats): boolean => stat.isFile() || stat.isDirectory();

/** Files and folders below, by path, or with `isShallow` those right here; links and special files are left out. */
export async function listFolder(place: FilePlace, isShallow = false): Promise<Listing> {
  const items: FolderEntry[] = [];
  await walkTree(place, ({ path, stat }) => {
    if (items.length > ENTRIES_MAX) return 'stop';
    if (isShown(stat)) items.push(entryOf(path, stat));
    return !isShallow;
  });
  const sorted = items.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return { items: sorted.slice(0, ENTRIES_MAX), truncated: sorted.length > ENTRIES_MAX };
}

/** One file or folder. Throws ENOENT, and for a link EINVAL. */
export const statEntry = (place: FilePlace): Promise<FolderEntry> =>
  inDirectory(place, async (directory, name) => {
    const stat = await lstat(directory.at(name));
    if (isShown(stat)) return entryOf(place.parts.join('/'), stat);
    throw Object.assign(new Error('neither file nor directory'), { code: 'EINVAL' });
  });
