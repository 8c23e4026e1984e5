import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StorageAdmission } from '../contract/index.js';
import { tusOfVolume } from './parts.js';

/** What the proxy knows of a resumable upload, beside tus's own `<id>.json` and the bytes in `<id>`: it survives a kill. */
export interface UploadRecord {
  readonly folderId: string;
  readonly path: string;
  /** Of the token that began it. */
  readonly jti: string;
  readonly size: number;
  readonly sha256: string | null;
  readonly limits: StorageAdmission['limits'];
}
/** What came of it, told for an hour to a client that was cut from the answer. */
export interface UploadDone extends UploadRecord {
  readonly sha256: string;
}

const RECORD = '.record';
const DONE = '.done';
const DONE_KEPT_MS = 3_600_000;
const ID = /^[0-9a-f]{32}$/;

export interface UploadRecords {
  read(id: string): Promise<UploadRecord | null>;
  readDone(id: string): Promise<UploadDone | null>;
  write(id: string, record: UploadRecord): Promise<void>;
  /** The upload is over: all but the word of it is removed. */
  finish(id: string, done: UploadDone): Promise<void>;
  drop(id: string): Promise<void>;
  /** Those that can be gone on with; older ones than `keptMs`, and leftovers, are removed. */
  open(keptMs: number): Promise<readonly (readonly [id: string, record: UploadRecord])[]>;
}

export const isUploadId = (id: string): boolean => ID.test(id);

export function uploadRecords(volumePath: string): UploadRecords {
  const directory = tusOfVolume(volumePath);
  const at = (name: string): string => join(directory, name);
  const readAs = async <Kind>(name: string): Promise<Kind | null> => {
    const text = await readFile(at(name), 'utf8').catch(() => null);
    return text === null || text === '' ? null : (JSON.parse(text) as Kind);
  };
  const write = async (name: string, content: object): Promise<void> => {
    await writeFile(at(`${name}.new`), JSON.stringify(content), { mode: 0o600 });
    await rename(at(`${name}.new`), at(name));
  };
  const drop = async (id: string): Promise<void> => {
    await Promise.all([id, `${id}.json`, `${id}${RECORD}`].map((name) => rm(at(name), { force: true })));
  };
  const ageMs = async (name: string): Promise<number> =>
    stat(at(name)).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );

  return {
    read: (id) => readAs<UploadRecord>(`${id}${RECORD}`),
    readDone: (id) => readAs<UploadDone>(`${id}${DONE}`),
    write: (id, record) => write(`${id}${RECORD}`, record),
    async finish(id, done) {
      await write(`${id}${DONE}`, done);
      await drop(id);
    },
    drop,
    async open(keptMs) {
      const names = await readdir(directory);
      const found: (readonly [string, UploadRecord])[] = [];
      for (const name of names) {
        if (name.endsWith(DONE) && (await ageMs(name)) > DONE_KEPT_MS) await rm(at(name), { force: true });
        if (!name.endsWith('.json')) continue;
        const id = name.slice(0, -'.json'.length);
        const record = names.includes(id) ? await readAs<UploadRecord>(`${id}${RECORD}`) : null;
        if (record !== null && (await ageMs(id)) < keptMs) found.push([id, record]);
        else await drop(id);
      }
      return found;
    },
  };
}
