import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, rename, rmdir, unlink } from 'node:fs/promises';
import { problem } from '../api/problem.js';
import { foldedName } from '../contract/index.js';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Containers write here as whatever user their image names; the volume's own folder keeps other users of the machine out. */
export const DIRECTORY_MODE = 0o777;

/**
 * An open directory. Names are looked up in it and nowhere else, through `/proc/self/fd`: what a container does meanwhile
 * with the directories above (a symbolic link in their place) cannot lead a lookup out of the folder.
 */
export interface Directory {
  readonly handle: FileHandle;
  /** The path of an entry; only ever of one name, never of a path. */
  at(name: string): string;
  close(): Promise<void>;
}

const wrap = (handle: FileHandle): Directory => ({
  handle,
  at: (name) => `/proc/self/fd/${handle.fd}/${name}`,
  close: () => handle.close(),
});

/** Opens a directory of the machine itself (a volume), following whatever its path says. */
export const openRoot = async (path: string): Promise<Directory> => wrap(await open(path, O_RDONLY | O_DIRECTORY));

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Names in a directory, read once; for one or for many new ones. */
export interface Names {
  has(name: string): boolean;
  /** A new name that another one there equals but for case or form is refused: elsewhere the two would be one. */
  mustTake(name: string): void;
}

export async function namesIn(directory: Directory): Promise<Names> {
  const names = new Set(await readdir(directory.at('.')));
  const folded = new Map([...names].map((name) => [foldedName(name), name]));
  return {
    has: (name) => names.has(name),
    mustTake(name) {
      if (names.has(name)) return;
      const like = folded.get(foldedName(name));
      if (like === undefined) {
        names.add(name);
        folded.set(foldedName(name), name);
        return;
      }
      const message = `${name}: ${like} is there, and differs only in case or form`;
      throw problem('invalid_request', message, { errors: [{ pointer: '/path/path', message }] });
    },
  };
}

export const mustNotClash = async (directory: Directory, name: string): Promise<void> =>
  (await namesIn(directory)).mustTake(name);

async function makeChild(parent: Directory, name: string): Promise<void> {
  await mustNotClash(parent, name);
  const path = parent.at(name);
  const isMade = await mkdir(path, { mode: DIRECTORY_MODE }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return false;
    },
  );
  if (!isMade) return;
  const made = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  await made.chmod(DIRECTORY_MODE).finally(() => made.close()); // the umask took bits away
  await parent.handle.sync();
}

/** Opens a directory in another. A symbolic link or a file there throws ELOOP or ENOTDIR. With `made` it is made where it is not; `made` hears of it. */
async function openChild(parent: Directory, name: string, made?: () => void): Promise<Directory> {
  const path = parent.at(name);
  try {
    return wrap(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  } catch (error) {
    if (made === undefined || !isMissing(error)) throw error;
  }
  await makeChild(parent, name);
  made();
  return wrap(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
}

/** Walks down the parts; the caller closes the result. The root stays open. With `made` what is not there is made. */
export async function openDirectory(root: Directory, parts: readonly string[], made?: () => void): Promise<Directory> {
  let current = wrap(await open(root.at('.'), O_RDONLY | O_DIRECTORY));
  for (const part of parts) {
    const parent = current;
    try {
      current = await openChild(parent, part, made);
    } finally {
      await parent.close();
    }
  }
  return current;
}

/** Opens a regular file for reading; anything else there (a link, a directory, a FIFO) throws. Never blocks. */
export async function openFile(directory: Directory, name: string): Promise<FileHandle> {
  const file = await open(directory.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const stat = await file.stat();
  if (stat.isFile()) return file;
  await file.close();
  throw Object.assign(new Error('not a regular file'), { code: stat.isDirectory() ? 'EISDIR' : 'EINVAL' });
}

/** Bytes of the regular file of that name; null when there is nothing. */
export async function bytesAt(
  directory: Directory,
  name: string,
): Promise<{ readonly bytes: number; readonly files: number } | null> {
  const stat = await lstat(directory.at(name)).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (stat === null) return null;
  return stat.isFile() ? { bytes: stat.size, files: 1 } : { bytes: 0, files: 0 };
}

/** Puts a finished file of the same volume in its place at once; readers see the old one or the new one. Sync the directory after it. */
export async function moveInto(directory: Directory, name: string, from: string): Promise<void> {
  if ((await bytesAt(directory, name)) === null) await mustNotClash(directory, name);
  await rename(from, directory.at(name));
}

export interface Removed {
  bytes: number;
  files: number;
  directories: number;
}

/** Removes a file, a link or a whole tree, never through a link. What is gone already is success; false when nothing was there. */
export async function removeEntry(directory: Directory, name: string, removed?: Removed): Promise<boolean> {
  const path = directory.at(name);
  try {
    const was = removed === undefined ? null : await bytesAt(directory, name);
    await unlink(path);
    if (removed !== undefined && was !== null) {
      removed.bytes += was.bytes;
      removed.files += was.files;
    }
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (code !== 'EISDIR' && code !== 'EPERM') throw error;
  }
  const child = await openChild(directory, name);
  try {
    for (const entry of await readdir(child.at('.'))) await removeEntry(child, entry, removed);
  } finally {
    await child.close();
  }
  await rmdir(path);
  if (removed !== undefined) removed.directories += 1;
  return true;
}
