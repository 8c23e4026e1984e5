import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * What was done to runs, one file a run, so that an agent that was restarted meanwhile knows: which were asked to stop (it
 * must not take the SIGTERM it sent itself for a failure of the engine), and which had their notice.
 */
export interface Marks {
  readonly add: (key: string) => Promise<void>;
  readonly has: (key: string) => boolean;
  /** What is not marked is success. */
  readonly remove: (key: string) => Promise<void>;
}

export async function openMarks(dir: string): Promise<Marks> {
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
