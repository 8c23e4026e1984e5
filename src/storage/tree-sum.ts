import { createHash } from 'node:crypto';
import type { TreeSum } from '../contract/index.js';
import { openFile } from './directory.js';
import { etagOf, type Sums, versionOf } from './sums.js';
import type { Uploaded } from './upload.js';
import { type FilePlace, walkTree } from './walk.js';

/** SHA-256 of every file below, and one of all: over the lines that `sha256sum` would print for them, by path. */
export async function treeSum(place: FilePlace, sums: Sums, withItems: boolean): Promise<TreeSum> {
  const items: Uploaded[] = [];
  await walkTree(place, async ({ directory, name, path, stat }) => {
    if (!stat.isFile()) return;
    const file = await openFile(directory, name).catch(() => null);
    if (file === null) return;
    try {
      const { etag, size } = await etagOf(file);
      items.push({ path, bytes: size, sha256: await sums.of(file, versionOf(place.volumePath, etag)) });
    } finally {
      await file.close();
    }
  });
  const sorted = items.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const hash = createHash('sha256');
  for (const { sha256, path } of sorted) hash.update(`${sha256}  ${path}\n`);
  const bytes = sorted.reduce((sum, item) => sum + item.bytes, 0);
  return { sha256: hash.digest('hex'), files: sorted.length, bytes, ...(withItems ? { items: sorted } : {}) };
}
