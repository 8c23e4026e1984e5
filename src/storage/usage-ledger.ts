import { problem } from '../api/problem.js';
import type { StorageAdmission } from '../contract/index.js';
import { createTurns } from './turns.js';
import { walkTree } from './walk.js';

/** What lies in a folder: lengths of its regular files, links not counted. */
export interface Use {
  readonly bytes: number;
  readonly files: number;
  readonly directories: number;
}
export interface Counted extends Use {
  readonly countedAtMs: number;
  readonly tookMs: number;
}
export interface FolderKey {
  readonly volumePath: string;
  readonly folderId: string;
}
type Limits = StorageAdmission['limits'];
interface Reservation {
  readonly key: string;
  readonly bytes: number;
  readonly limits: Limits;
  readonly expiresAtMs: number;
}

/** Sessions write beside the proxy: a count is good for a second, or for twenty times as long as it took. */
const freshMs = ({ tookMs }: Counted): number => Math.max(1_000, 20 * tookMs);

const keyOf = ({ volumePath, folderId }: FolderKey): string => `${volumePath}/${folderId}`;

/** Counts by walking, kept with the changes since. Each count and each change is alone in its folder's turn. */
function createCounts(nowMs: () => number) {
  const turns = createTurns();
  const known = new Map<string, Counted>();

  async function walkAndCount(folder: FolderKey): Promise<Counted> {
    const began = nowMs();
    const use = { bytes: 0, files: 0, directories: 0 };
    await walkTree({ ...folder, parts: [] }, ({ stat }) => {
      if (stat.isDirectory()) use.directories += 1;
      if (!stat.isFile()) return;
      use.files += 1;
      use.bytes += stat.size;
    });
    const counted = { ...use, countedAtMs: nowMs(), tookMs: nowMs() - began };
    known.set(keyOf(folder), counted);
    return counted;
  }

  function add(key: string, by: Use): void {
    const last = known.get(key);
    if (last === undefined) return;
    const { bytes, files, directories } = last;
    known.set(key, {
      ...last,
      bytes: bytes + by.bytes,
      files: files + by.files,
      directories: directories + by.directories,
    });
  }

  return {
    count: (folder: FolderKey): Promise<Counted> => turns(keyOf(folder), () => walkAndCount(folder)),
    recent: (folder: FolderKey): Promise<Counted> =>
      turns(keyOf(folder), async () => {
        const last = known.get(keyOf(folder));
        return last !== undefined && nowMs() - last.countedAtMs < freshMs(last) ? last : walkAndCount(folder);
      }),
    bytesOf: (key: string): number => known.get(key)?.bytes ?? 0,
    /** A change of a folder's bytes; its answer says by how much. */
    change: <Result>(folder: FolderKey, work: () => Promise<{ readonly by: Use; readonly result: Result }>) =>
      turns(keyOf(folder), async () => {
        try {
          const { by, result } = await work();
          add(keyOf(folder), by);
          return result;
        } catch (error) {
          known.delete(keyOf(folder)); // half of it may have happened
          throw error;
        }
      }),
    forget: (folder: FolderKey): void => void known.delete(keyOf(folder)),
  };
}

/** Room that is kept, by the token or the upload that it is for. */
function createReservations(nowMs: () => number) {
  const reserved = new Map<string, Reservation>();
  return {
    get: (id: string): Reservation | undefined => reserved.get(id),
    set: (id: string, one: Reservation): void => void reserved.set(id, one),
    delete: (id: string): void => void reserved.delete(id),
    bytesOf(key: string, except?: string): number {
      let bytes = 0;
      for (const [id, one] of reserved) {
        if (one.expiresAtMs < nowMs()) reserved.delete(id);
        else if (one.key === key && id !== except) bytes += one.bytes;
      }
      return bytes;
    },
  };
}

export type UsageLedger = ReturnType<typeof createUsageLedger>;

/**
 * Exact use of each folder: counted file by file, and changed by each operation under the folder's turn, so that a count and a
 * change never overlap. Room is kept for what was admitted until it ends.
 */
export function createUsageLedger(volumes: Readonly<Record<string, string>>, nowMs: () => number = Date.now) {
  const counts = createCounts(nowMs);
  const reserved = createReservations(nowMs);

  const foldersOf = ({ folders }: Limits[number]): FolderKey[] =>
    folders.flatMap(({ volume, folderId }) => {
      const volumePath = volumes[volume];
      return volumePath === undefined ? [] : [{ volumePath, folderId }];
    });

  /** Of what is known now, without waiting: call `refresh` first. Throws 413 with the numbers. */
  function mustFit(limits: Limits, bytes: number, except?: string): void {
    for (const limit of limits) {
      const keys = foldersOf(limit).map(keyOf);
      const held = keys.reduce((sum, key) => sum + counts.bytesOf(key) + reserved.bytesOf(key, except), 0);
      if (held + bytes <= limit.limitBytes) continue;
      const detail = `${limit.name} holds ${held} of ${limit.limitBytes} bytes in folders; this needs ${bytes} more`;
      throw problem('too_large', detail, { hint: 'berth folder usage' });
    }
  }

  const refresh = async (limits: Limits): Promise<void> => {
    await Promise.all(limits.flatMap(foldersOf).map(counts.recent));
  };

  return {
    count: counts.count,
    change: counts.change,
    forget: counts.forget,
    /** Bytes for which room is kept in a folder. */
    reservedIn: (folder: FolderKey): number => reserved.bytesOf(keyOf(folder)),
    /** Keeps room under the token's id, or throws 413. */
    async admit({ jti, folderId, volumePath, bytes, limits, expiresAtSeconds }: StorageAdmission & FolderKey) {
      await refresh(limits);
      mustFit(limits, bytes ?? 0);
      const key = keyOf({ volumePath, folderId });
      reserved.set(jti, { key, bytes: bytes ?? 0, limits, expiresAtMs: expiresAtSeconds * 1000 });
    },
    reservation: reserved.get,
    /** What was admitted under a token (`from`) belongs to an upload from now on, until it is released. */
    hold(id: string, folder: FolderKey, { bytes, limits, from }: { bytes: number; limits: Limits; from: string }) {
      reserved.delete(from);
      reserved.set(id, { key: keyOf(folder), bytes, limits, expiresAtMs: Number.POSITIVE_INFINITY });
    },
    release: reserved.delete,
    /** Throws 413 when `bytes` of the upload under `id` do not fit any more: a session may have written meanwhile. */
    async mustStillFit(id: string, bytes: number, limits: Limits): Promise<void> {
      if (limits.length === 0) return;
      await refresh(limits);
      mustFit(limits, bytes, id);
    },
    /** As bytes come in whose number nobody knew before. */
    mustFitSoFar: (id: string, bytes: number, limits: Limits): void => mustFit(limits, bytes, id),
  };
}
