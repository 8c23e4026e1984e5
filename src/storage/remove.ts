import { notFound } from '../api/problem.js';
import { openDirectory, openRoot, removeEntry } from './directory.js';
import type { UsageLedger } from './usage-ledger.js';
import type { FilePlace } from './walk.js';

/** Removes a file or a folder with all in it; the whole Berth folder when no path is named, where nothing there is success. */
export async function removePath(ledger: UsageLedger, place: FilePlace): Promise<void> {
  const { volumePath, folderId, parts } = place;
  const root = await openRoot(volumePath);
  try {
    await ledger.change(place, async () => {
      const removed = { bytes: 0, files: 0, directories: 0 };
      const directory = await openDirectory(root, [folderId, ...parts].slice(0, -1));
      const wasThere = await removeEntry(directory, parts.at(-1) ?? folderId, removed).finally(() => directory.close());
      if (!wasThere && parts.length > 0) throw notFound('file');
      const { bytes, files, directories } = removed;
      return { by: { bytes: -bytes, files: -files, directories: -directories }, result: undefined };
    });
    if (parts.length === 0) ledger.forget(place);
  } finally {
    await root.close();
  }
}
