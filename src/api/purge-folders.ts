import type { FolderId } from '../contract/index.js';
import type { FolderPlace } from '../store/store.js';
import type { ApiDeps } from './deps.js';
import { ProblemError } from './problem.js';

const AT_ONCE = 1_000;
/** Folders counted in a round: sessions write beside the storage proxy. */
const COUNTED_AT_ONCE = 100;
/** The proxy goes on with a clone when the wait for it ends; the next round asks again. */
const CLONE_WAIT_MS = 30_000;

type PurgeDeps = Pick<ApiDeps, 'store' | 'folderBytes' | 'log'>;

/** Brings a folder that is CLONING to READY; bytes that have no room remove it again. */
export async function finishClone(
  { store: { folders }, folderBytes }: Pick<PurgeDeps, 'store' | 'folderBytes'>,
  clone: FolderPlace & { readonly cloneOf: FolderId },
  waitMs: number,
): Promise<void> {
  const source = { id: clone.cloneOf, volume: clone.volume };
  try {
    await folderBytes.clone(source, clone.id, { limits: await folders.byteLimits(clone.id), waitMs });
  } catch (error) {
    if (error instanceof ProblemError && error.refusal.code === 'too_large') await folders.remove(clone.id);
    throw error;
  }
  await folders.cloned(clone.id);
}

/**
 * Ends what was cut: removals (the storage proxy was away, or the API died between the mark and the bytes), clones, and the
 * stay in the trash; and counts again. One API process at a time; a folder that fails is left for the next round and holds up
 * no other.
 */
async function purgeFolders(deps: PurgeDeps): Promise<void> {
  const { store, folderBytes, log } = deps;
  const each = async <Item extends FolderPlace>(items: readonly Item[], work: (item: Item) => Promise<void>) => {
    for (const item of items) {
      await work(item).catch((error: unknown) => log.warn({ err: error, folder: item.id }, 'a folder has to wait'));
    }
  };
  await store.control.alone('purge-folders', async () => {
    await each(await store.folders.purging(AT_ONCE), async (folder) => {
      await folderBytes.remove(folder);
      await store.folders.purged(folder.id);
    });
    await each(await store.folders.cloning(AT_ONCE), (clone) => finishClone(deps, clone, CLONE_WAIT_MS));
    await each(await store.folders.leastRecentlyCounted(COUNTED_AT_ONCE), async (folder) => {
      await store.folders.counted(folder.id, await folderBytes.usage(folder));
    });
  });
}

/** `purgeFolders` each `everyMs` until it is closed; a round under way is waited for. */
export function startPurges(deps: PurgeDeps, everyMs: number): { close(): Promise<void> } {
  let isClosed = false;
  let round: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const arm = () => {
    if (isClosed) return;
    timer = setTimeout(() => {
      round = purgeFolders(deps)
        .catch((error: unknown) => deps.log.warn({ err: error }, 'no round over the folders that are removed'))
        .then(arm);
    }, everyMs);
  };
  arm();
  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await round;
    },
  };
}
