import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SOURCE_FILES, SOURCE_FOLDERS } from './entries.js';

function filesUnder(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** Of names and contents of everything a build depends on; the order of the file system plays no part. */
export function sourceHash(root: string): string {
  const hash = createHash('sha256');
  const single = SOURCE_FILES.map((file) => join(root, file));
  for (const file of [...SOURCE_FOLDERS.flatMap((folder) => filesUnder(root, folder)), ...single]) {
    hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}
