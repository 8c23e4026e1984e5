import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One run of an engine's container that ended by itself. */
export interface Crash {
  /** Since 1970. */
  readonly atMs: number;
  /** When that run was started: the same crash is found again by an agent that was killed before it acted on it. */
  readonly run: string;
}
export interface CrashHistory {
  /** Times that it was started again. */
  readonly restarts: number;
  /** The last ones, oldest first. */
  readonly crashes: readonly Crash[];
}

/** Crashes of engines, a small file each: an agent that was killed neither refills a budget of restarts nor uses it up twice. */
export interface CrashBook {
  readonly of: (instanceId: string) => CrashHistory;
  /** Known at once; throws where it cannot be written. */
  readonly put: (instanceId: string, history: CrashHistory) => Promise<void>;
  /** What is not there is success. */
  readonly remove: (instanceId: string) => Promise<void>;
}

const NONE: CrashHistory = { restarts: 0, crashes: [] };
/** Of engines that went while no agent ran. */
const KEPT_MS = 7 * 86_400_000;
const HALF_WRITTEN = '.new';

export async function openCrashBook(dir: string): Promise<CrashBook> {
  await mkdir(dir, { recursive: true });
  const known = await readAll(dir);
  const saves = new Map<string, Promise<void>>();

  /** One at a time an engine, since two may see one crash; each leaves the disk as it is known by then. */
  const save = async (instanceId: string): Promise<void> => {
    const before = saves.get(instanceId) ?? Promise.resolve();
    const saved = before.catch(() => undefined).then(() => write(join(dir, instanceId), known.get(instanceId)));
    saves.set(instanceId, saved);
    try {
      await saved;
    } finally {
      if (saves.get(instanceId) === saved) saves.delete(instanceId);
    }
  };

  return {
    of: (instanceId) => known.get(instanceId) ?? NONE,
    put: (instanceId, history) => {
      known.set(instanceId, history);
      return save(instanceId);
    },
    remove: async (instanceId) => {
      if (known.delete(instanceId)) await save(instanceId);
    },
  };
}

/** Half a file is never read. */
async function write(path: string, history: CrashHistory | undefined): Promise<void> {
  if (history === undefined) return rm(path, { force: true });
  await writeFile(`${path}${HALF_WRITTEN}`, JSON.stringify(history));
  await rename(`${path}${HALF_WRITTEN}`, path);
}

async function readAll(dir: string): Promise<Map<string, CrashHistory>> {
  const known = new Map<string, CrashHistory>();
  for (const name of await readdir(dir)) {
    const history = name.endsWith(HALF_WRITTEN) ? undefined : await read(join(dir, name));
    if (history !== undefined && (history.crashes.at(-1)?.atMs ?? 0) > Date.now() - KEPT_MS) known.set(name, history);
    else await rm(join(dir, name), { force: true });
  }
  return known;
}

async function read(path: string): Promise<CrashHistory | undefined> {
  try {
    const { restarts, crashes } = JSON.parse(await readFile(path, 'utf8')) as Partial<CrashHistory>;
    const isWhole = typeof restarts === 'number' && Array.isArray(crashes);
    return isWhole ? { restarts, crashes: crashes as readonly Crash[] } : undefined;
  } catch {
    return undefined;
  }
}
