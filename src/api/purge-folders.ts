import type { ApiDeps } from './deps.js';

const AT_ONCE = 1_000;

type PurgeDeps = Pick<ApiDeps, 'store' | 'folderBytes' | 'log'>;

/**
 * Ends removals that were cut: the storage proxy was away, or the API died between the mark and the bytes. One API process at
 * a time; a folder that cannot be removed now stays PURGING for the next round and holds up no other.
 */
async function purgeFolders({ store, folderBytes, log }: PurgeDeps): Promise<void> {
  await store.control.alone('purge-folders', async () => {
    for (const folder of await store.folders.purging(AT_ONCE)) {
      try {
        await folderBytes.remove(folder);
        await store.folders.purged(folder.id);
      } catch (error) {
        log.warn({ err: error, folder: folder.id }, 'a folder could not be removed yet');
      }
    }
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
