import { notFound } from '../api/problem.js';
import { openDirectory, openRoot, removeEntry } from './directory.js';
import type { FilePlace } from './download.js';

/** Removes a file or a folder with all in it; the whole Berth folder when no path is named, where nothing there is success. */
export async function removePath({ volumePath, folderId, parts }: FilePlace): Promise<void> {
  const root = await openRoot(volumePath);
  try {
    const above = [folderId, ...parts].slice(0, -1);
    const directory = await openDirectory(root, above);
    const wasThere = await removeEntry(directory, parts.at(-1) ?? folderId).finally(() => directory.close());
    if (!wasThere && parts.length > 0) throw notFound('file');
  } finally {
    await root.close();
  }
}
