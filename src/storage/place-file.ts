import { open } from 'node:fs/promises';
import { bytesAt, moveInto, openDirectory, openRoot } from './directory.js';
import { etagOf, type Sums, versionOf } from './sums.js';
import type { UsageLedger } from './usage-ledger.js';
import type { FilePlace } from './walk.js';

export const FILE_MODE = 0o666;

export interface Placing {
  readonly ledger: UsageLedger;
  readonly sums: Sums;
}

/** A finished part, synced already, and where it shall be; its bytes and its sum as they came in. */
export interface Finished extends FilePlace {
  readonly partFile: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Moves a part into its place at once, in the folder's turn, so that its use stays exact whoever else writes the same path; then
 * syncs the directory. Parents that are not there are made.
 */
export async function placeFile({ ledger, sums }: Placing, finished: Finished): Promise<void> {
  const { volumePath, folderId, parts, partFile, bytes } = finished;
  const name = parts.at(-1) ?? '';
  const [root, file] = await Promise.all([openRoot(volumePath), open(partFile, 'r')]);
  try {
    const directory = await ledger.change(finished, async () => {
      let directories = 0;
      await openDirectory(root, [folderId], () => undefined).then((folder) => folder.close());
      const above = await openDirectory(root, [folderId, ...parts.slice(0, -1)], () => (directories += 1));
      try {
        const old = (await bytesAt(above, name)) ?? { bytes: 0, files: 0 };
        await moveInto(above, name, partFile);
        return { by: { bytes: bytes - old.bytes, files: 1 - old.files, directories }, result: above };
      } catch (error) {
        await above.close();
        throw error;
      }
    });
    await directory.handle.sync().finally(() => directory.close());
    const { etag } = await etagOf(file); // of this very file, whatever lies there by now
    sums.keep(versionOf(volumePath, etag), finished.sha256);
  } finally {
    await Promise.all([root.close(), file.close()]);
  }
}
