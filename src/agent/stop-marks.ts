import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Which runs were asked to stop. On disk, so that an agent that was restarted meanwhile does not take the SIGTERM it
 * sent itself for a failure of the engine.
 */
export interface StopMarks {
  readonly add: (key: string) => Promise<void>;
  readonly has: (key: string) => boolean;
  /** What is not marked is success. */
  readonly remove: (key: string) => Promise<void>;
}

export async function openStopMarks(dir: string): Promise<StopMarks> {
  await mkdir(dir, { recursive: true });
  const marks = new Set(await readdir(dir));
  return {
    has: (key) => marks.has(key),
    add: async (key) => {
      marks.add(key);
      await writeFile(join(dir, key), '');
    },
    remove: async (key) => {
      if (!marks.delete(key)) return;
      await rm(join(dir, key), { force: true });
    },
  };
}
