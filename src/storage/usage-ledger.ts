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

export type UsageLedger = ReturnType<typeof createUsageLedger>;

/**
 * Exact use of each folder: counted file by file, and changed by each operation under the folder's turn, so that a count and a
 * change never overlap. Room is kept for what was admitted until it ends: `key` of a reservation is a token or an upload.
 */
export function createUsageLedger(volumes: Readonly<Record<string, string>>, nowMs: () => number = Date.now) {
  const turns = createTurns();
  const known = new Map<string, Counted>();
  const reserved = new Map<string, Reservation>();
  const keyOf = ({ volumePath, folderId }: FolderKey): string => `${volumePath}/${folderId}`;

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

  const count = (folder: FolderKey): Promise<Counted> => turns(keyOf(folder), () => walkAndCount(folder));

  const recent = (folder: FolderKey): Promise<Counted> =>
    turns(keyOf(folder), async () => {
      const last = known.get(keyOf(folder));
      return last !== undefined && nowMs() - last.countedAtMs < freshMs(last) ? last : walkAndCount(folder);
    });

  const reservedOf = (key: string, except?: string): number => {
    let bytes = 0;
    for (const [id, one] of reserved) {
      if (one.expiresAtMs < nowMs()) reserved.delete(id);
      else if (one.key === key && id !== except) bytes += one.bytes;
    }
    return bytes;
  };

  const foldersOf = ({ folders }: Limits[number]): FolderKey[] =>
    folders.flatMap(({ volume, folderId }) => {
      const volumePath = volumes[volume];
      return volumePath === undefined ? [] : [{ volumePath, folderId }];
    });

  /** Of what is known now, without waiting: call `refresh` first. Throws 413 with the numbers. */
  function mustFit(limits: Limits, bytes: number, except?: string): void {
    for (const limit of limits) {
      const keys = foldersOf(limit).map(keyOf);
      const held = keys.reduce((sum, key) => sum + (known.get(key)?.bytes ?? 0) + reservedOf(key, except), 0);
      if (held + bytes <= limit.limitBytes) continue;
      const detail = `${limit.name} holds ${held} of ${limit.limitBytes} bytes in folders; this needs ${bytes} more`;
      throw problem('too_large', detail, { hint: 'berth folder usage' });
    }
  }

  const refresh = async (limits: Limits): Promise<void> => {
    await Promise.all(limits.flatMap(foldersOf).map(recent));
  };

  return {
    count,
    /** Bytes for which room is kept in a folder. */
    reservedIn: (folder: FolderKey): number => reservedOf(keyOf(folder)),
    /** A change of a folder's bytes, alone in its turn; its answer says by how much. */
    change: <Result>(folder: FolderKey, work: () => Promise<{ readonly by: Use; readonly result: Result }>) =>
      turns(keyOf(folder), async () => {
        try {
          const { by, result } = await work();
          const last = known.get(keyOf(folder));
          if (last !== undefined) {
            const bytes = last.bytes + by.bytes;
            known.set(keyOf(folder), {
              ...last,
              bytes,
              files: last.files + by.files,
              directories: last.directories + by.directories,
            });
          }
          return result;
        } catch (error) {
          known.delete(keyOf(folder)); // half of it may have happened
          throw error;
        }
      }),
    forget: (folder: FolderKey): void => void known.delete(keyOf(folder)),
    /** Keeps room under the token's id, or throws 413. */
    async admit({ jti, folderId, volumePath, bytes, limits, expiresAtSeconds }: StorageAdmission & FolderKey) {
      await refresh(limits);
      mustFit(limits, bytes ?? 0);
      const key = keyOf({ volumePath, folderId });
      reserved.set(jti, { key, bytes: bytes ?? 0, limits, expiresAtMs: expiresAtSeconds * 1000 });
    },
    reservation: (id: string): Reservation | undefined => reserved.get(id),
    /** What was admitted under a token belongs to an upload from now on; without `expiresAtMs` until it is released. */
    hold(id: string, folder: FolderKey, { bytes, limits, from }: { bytes: number; limits: Limits; from?: string }) {
      if (from !== undefined) reserved.delete(from);
      reserved.set(id, { key: keyOf(folder), bytes, limits, expiresAtMs: Number.POSITIVE_INFINITY });
    },
    release: (id: string): void => void reserved.delete(id),
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
