import { lstat, opendir } from 'node:fs/promises';
import { type Directory, openDirectory, openRoot } from './directory.js';
import type { FilePlace } from './download.js';

export const ENTRIES_MAX = 100_000;

export interface Entry {
  readonly path: string;
  readonly type: 'file' | 'directory';
  readonly bytes: number;
  readonly modifiedAt: string;
}
export interface Listing {
  readonly items: readonly Entry[];
  /** There are more than are listed. */
  readonly truncated: boolean;
}

async function entryAt(directory: Directory, name: string, path: string): Promise<Entry | null> {
  const stat = await lstat(directory.at(name)).catch(() => null);
  if (stat === null || (!stat.isFile() && !stat.isDirectory())) return null;
  const type = stat.isDirectory() ? 'directory' : 'file';
  return { path, type, bytes: stat.isFile() ? stat.size : 0, modifiedAt: stat.mtime.toISOString() };
}

async function walk(directory: Directory, prefix: string, items: Entry[]): Promise<void> {
  for await (const { name } of await opendir(directory.at('.'))) {
    if (items.length > ENTRIES_MAX) return;
    const path = prefix === '' ? name : `${prefix}/${name}`;
    const entry = await entryAt(directory, name, path);
    if (entry === null) continue;
    items.push(entry);
    if (entry.type === 'file') continue;
    const child = await openDirectory(directory, [name]).catch(() => null); // gone, or a link by now
    if (child !== null) await walk(child, path, items).finally(() => child.close());
  }
}

/** All files and folders below, by path; links and special files are left out. A folder without bytes yet is empty. */
export async function listFolder({ volumePath, folderId, parts }: FilePlace): Promise<Listing> {
  const root = await openRoot(volumePath);
  const items: Entry[] = [];
  try {
    const directory = await openDirectory(root, [folderId, ...parts]);
    await walk(directory, parts.join('/'), items).finally(() => directory.close());
  } catch (error) {
    const isNew = parts.length === 0 && (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (!isNew) throw error;
  } finally {
    await root.close();
  }
  const sorted = items.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return { items: sorted.slice(0, ENTRIES_MAX), truncated: sorted.length > ENTRIES_MAX };
}
