import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rmdir, unlink } from 'node:fs/promises';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Containers write here as whatever user their image names; the volume's own folder keeps other users of the machine out. */
const DIRECTORY_MODE = 0o777;

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

/** Opens a directory in another. A symbolic link or a file there throws ELOOP or ENOTDIR. With `create` it is made first. */
async function openChild(parent: Directory, name: string, create: boolean): Promise<Directory> {
  const path = parent.at(name);
  if (create) {
    await mkdir(path, { mode: DIRECTORY_MODE }).then(
      async () => {
        const made = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        await made.chmod(DIRECTORY_MODE).finally(() => made.close()); // the umask took bits away
      },
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
  }
  return wrap(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
}

/** Walks down the parts; the caller closes the result. The root stays open. */
export async function openDirectory(root: Directory, parts: readonly string[], create = false): Promise<Directory> {
  let current = wrap(await open(root.at('.'), O_RDONLY | O_DIRECTORY));
  for (const part of parts) {
    const parent = current;
    try {
      current = await openChild(parent, part, create);
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

/** Puts a finished file of the same volume in its place at once; readers see the old one or the new one. */
export async function moveInto(directory: Directory, name: string, from: string): Promise<void> {
  await rename(from, directory.at(name));
  await directory.handle.sync();
}

/** Removes a file, a link or a whole tree, never through a link. What is gone already is success; false when nothing was there. */
export async function removeEntry(directory: Directory, name: string): Promise<boolean> {
  const path = directory.at(name);
  try {
    await unlink(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (code !== 'EISDIR' && code !== 'EPERM') throw error;
  }
  const child = await openChild(directory, name, false);
  try {
    for (const entry of await readdir(child.at('.'))) await removeEntry(child, entry);
  } finally {
    await child.close();
  }
  await rmdir(path);
  return true;
}
