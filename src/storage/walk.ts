import type { Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { type Directory, openDirectory, openRoot } from './directory.js';

export interface FilePlace {
  readonly volumePath: string;
  readonly folderId: string;
  readonly parts: readonly string[];
}
/** A file, a directory or a link as the walk finds it; `directory` is open while its visitor runs. */
export interface Found {
  readonly directory: Directory;
  readonly name: string;
  readonly path: string;
  readonly stat: Stats;
}
/** Answers false to stay out of a directory, or, for any entry, `stop` to end the walk. */
export type Visit = (found: Found) => Promise<boolean | 'stop' | void> | boolean | 'stop' | void;

async function walk(directory: Directory, prefix: string, visit: Visit): Promise<boolean> {
  for await (const { name } of await opendir(directory.at('.'), { bufferSize: 512 })) {
    const stat = await lstat(directory.at(name)).catch(() => null); // gone by now
    if (stat === null) continue;
    const path = prefix === '' ? name : `${prefix}/${name}`;
    const said = await visit({ directory, name, path, stat });
    if (said === 'stop') return false;
    if (!stat.isDirectory() || said === false) continue;
    const child = await openDirectory(directory, [name]).catch(() => null); // gone, or a link by now
    if (child !== null && !(await walk(child, path, visit).finally(() => child.close()))) return false;
  }
  return true;
}

/** Everything below a place, in no order, never through a link. A folder without bytes yet is empty. */
export async function walkTree({ volumePath, folderId, parts }: FilePlace, visit: Visit): Promise<void> {
  const root = await openRoot(volumePath);
  try {
    const directory = await openDirectory(root, [folderId, ...parts]);
    await walk(directory, parts.join('/'), visit).finally(() => directory.close());
  } catch (error) {
    const isNew = parts.length === 0 && (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (!isNew) throw error;
  } finally {
    await root.close();
  }
}

/** Runs `work` in the directory that holds the last part. */
export async function inDirectory<Result>(
  { volumePath, folderId, parts }: FilePlace,
  work: (directory: Directory, name: string) => Promise<Result>,
): Promise<Result> {
  const root = await openRoot(volumePath);
  try {
    const directory = await openDirectory(root, [folderId, ...parts.slice(0, -1)]);
    return await work(directory, parts.at(-1) ?? '.').finally(() => directory.close());
  } finally {
    await root.close();
  }
}
