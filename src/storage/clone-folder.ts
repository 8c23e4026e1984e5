import { constants } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, open, readlink, rename, rm, symlink, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DIRECTORY_MODE, openFile } from './directory.js';
import { CLONE_PREFIX, partsOfVolume } from './parts.js';
import { createTurns } from './turns.js';
import { type FilePlace, type Found, walkTree } from './walk.js';

export type CloneFolder = (source: FilePlace, target: string) => Promise<void>;

/** Done before: of the same length and time. A copy gets its time last, so half a file never looks so. */
async function isCopied(target: string, { stat }: Found): Promise<boolean> {
  const there = await lstat(target).catch(() => null);
  return there !== null && there.isFile() && there.size === stat.size && Math.abs(there.mtimeMs - stat.mtimeMs) < 2;
}

async function copy(found: Found, target: string): Promise<void> {
  const { directory, name, stat } = found;
  if (await isCopied(target, found)) return;
  await rm(target, { recursive: true, force: true });
  const file = await openFile(directory, name).catch(() => null); // gone, or no file by now
  if (file === null) return;
  try {
    await copyFile(`/proc/self/fd/${file.fd}`, target, constants.COPYFILE_FICLONE); // shares its blocks where the file system can
  } finally {
    await file.close();
  }
  await chmod(target, stat.mode & 0o777);
  const copied = await open(target, 'r+');
  await copied.datasync().finally(() => copied.close());
  await utimes(target, stat.atime, stat.mtime);
}

/** A link is copied as it stands; it is never followed, here or later. */
async function copyLink({ directory, name }: Found, target: string): Promise<void> {
  await symlink(await readlink(directory.at(name)), target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** A link that an earlier try copied, where a folder is by now, would lead out. */
async function makeReal(path: string): Promise<void> {
  const there = await lstat(path).catch(() => null);
  if (there !== null && !there.isDirectory()) await rm(path, { force: true });
  await mkdir(path, { recursive: true });
  await chmod(path, DIRECTORY_MODE);
}

/**
 * Copies a folder to a new one on the same volume, which appears whole. A second call joins the first; after a kill it goes on
 * with what is there; once it is done, it is success.
 */
export function createCloneFolder(): CloneFolder {
  const turns = createTurns();
  return (source, target) =>
    turns(target, async () => {
      const final = join(source.volumePath, target);
      if ((await lstat(final).catch(() => null)) !== null) return;
      const partial = join(partsOfVolume(source.volumePath), `${CLONE_PREFIX}${target}`);
      await mkdir(partial, { recursive: true, mode: 0o700 });
      await walkTree(source, async (found) => {
        const to = join(partial, found.path);
        if (found.stat.isDirectory()) await makeReal(to);
        else if (found.stat.isFile()) await copy(found, to);
        else if (found.stat.isSymbolicLink()) await copyLink(found, to);
      });
      await chmod(partial, DIRECTORY_MODE);
      await rename(partial, final);
      const above = await open(dirname(final), 'r');
      await above.sync().finally(() => above.close());
    });
}
