import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { usageError } from '../cli-error.js';

export interface LocalFile {
  /** On this machine. */
  readonly file: string;
  /** Where it goes, in the folder. */
  readonly path: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

async function below(directory: string, prefix: string): Promise<LocalFile[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Promise.all(
    files.map(async (file) => {
      const { size, mtimeMs } = await stat(file);
      const path = [prefix, ...relative(directory, file).split(sep)].filter((part) => part !== '').join('/');
      return { file, path, bytes: size, modifiedMs: mtimeMs };
    }),
  );
}

/**
 * Files that `put` sends. A target that ends with `/`, or several sources, keep their names below it; one directory's files
 * go right below the target. Links and special files are left out.
 */
export async function localFiles(sources: readonly string[], target: string): Promise<readonly LocalFile[]> {
  const isBelow = target === '' || target.endsWith('/') || sources.length > 1;
  const prefix = target.replace(/\/+$/, '');
  const found: LocalFile[] = [];
  for (const source of sources) {
    const info = await stat(source).catch(() => {
      throw usageError(`there is no file ${source} here`);
    });
    const named = isBelow && (!info.isDirectory() || sources.length > 1);
    const path = [prefix, ...(named ? [basename(source)] : [])].filter((part) => part !== '').join('/');
    if (info.isDirectory()) found.push(...(await below(source, path)));
    else if (info.isFile()) found.push({ file: source, path, bytes: info.size, modifiedMs: info.mtimeMs });
    else throw usageError(`${source} is neither a file nor a directory`);
  }
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 2 ** 20 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Runs `work` on each, so many at once; the first failure ends it. */
export async function atOnce<Item>(
  count: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const lane = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, lane));
}
