import { rename } from 'node:fs/promises';
import { problem } from '../api/problem.js';
import { bytesAt, mustNotClash, openDirectory, openRoot } from './directory.js';
import type { UsageLedger } from './usage-ledger.js';
import type { FilePlace } from './walk.js';

/** Renames within a folder; parents of the target are made. What lies at the target is refused, never replaced. */
export async function move(ledger: UsageLedger, place: FilePlace, to: readonly string[]): Promise<void> {
  const { volumePath, folderId, parts } = place;
  const [from = '', target = ''] = [parts.at(-1), to.at(-1)];
  if (to.join('/').startsWith(`${parts.join('/')}/`))
    throw problem('invalid_request', 'a folder cannot move into itself');
  const root = await openRoot(volumePath);
  try {
    await ledger.change(place, async () => {
      let directories = 0;
      const source = await openDirectory(root, [folderId, ...parts.slice(0, -1)]);
      const above = await openDirectory(root, [folderId, ...to.slice(0, -1)], () => (directories += 1));
      try {
        const isThere = await bytesAt(source, from);
        if (isThere === null) throw problem('not_found', 'there is no such file');
        if ((await bytesAt(above, target)) !== null) throw problem('conflict', `there is ${to.join('/')} already`);
        const isSame = parts.slice(0, -1).join('/') === to.slice(0, -1).join('/');
        if (!isSame || from.toLowerCase() !== target.toLowerCase()) await mustNotClash(above, target);
        await rename(source.at(from), above.at(target));
        await Promise.all([source.handle.sync(), above.handle.sync()]);
        return { by: { bytes: 0, files: 0, directories }, result: undefined };
      } finally {
        await Promise.all([source.close(), above.close()]);
      }
    });
  } finally {
    await root.close();
  }
}
