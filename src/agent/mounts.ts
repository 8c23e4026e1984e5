import { chmod, mkdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { LaunchOrder } from '../contract/index.js';
import type { MountSpec } from '../docker/container-spec.js';
import { StartRefused } from './start-failure.js';

/** Volume name → its folder on this machine. */
export type Volumes = Readonly<Record<string, string>>;

const FOLDER_NAME = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * The directories behind an order's mounts. Throws `StartRefused` (folder-refused) for a volume that this node does not
 * have and for a folder that a link leads out of its volume. A folder to which nothing was uploaded yet has no directory: it
 * is made here, writable for whatever user the container runs as; the volume's own directory keeps others out.
 */
export async function resolveMounts(volumes: Volumes, mounts: LaunchOrder['mounts']): Promise<readonly MountSpec[]> {
  return Promise.all(
    mounts.map(async ({ volume, folderId, target, readOnly }) => {
      const root = Object.hasOwn(volumes, volume) ? volumes[volume] : undefined;
      if (root === undefined) throw refused(`this node has no volume ${volume}`);
      if (!FOLDER_NAME.test(folderId)) throw refused('the name of the folder is not valid');
      return { source: await directory(root, folderId), target, readOnly };
    }),
  );
}

async function directory(root: string, folderId: string): Promise<string> {
  try {
    await makeWritable(join(root, folderId));
    const [volume, path] = await Promise.all([realpath(root), realpath(join(root, folderId))]);
    if (path.startsWith(volume + sep) && (await stat(path)).isDirectory()) return path;
  } catch {
    // said below: the path itself stays on this machine
  }
  throw refused(`folder ${folderId} is not on this node`);
}

async function makeWritable(path: string): Promise<void> {
  const made = await mkdir(path).then(
    () => true,
    () => false,
  ); // it is there, or the volume is not: said by the caller
  if (made) await chmod(path, 0o777);
}

const refused = (message: string): StartRefused =>
  new StartRefused({ cause: 'folder-refused', whose: 'platform', message });
