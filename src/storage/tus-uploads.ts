import { randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Server } from '@tus/server';
import { problem } from '../api/problem.js';
import { HashingStore } from './hashing-store.js';
import { tusOfVolume } from './parts.js';
import { FILE_MODE, type Placing, placeFile } from './place-file.js';
import { createTurns } from './turns.js';
import { answerProblems, asTusError } from './tus-answers.js';
import { sumMismatch } from './upload.js';
import { type UploadDone, type UploadRecord, uploadRecords } from './upload-records.js';

/** An upload that nobody went on with for so long is removed. */
const KEPT_MS = 24 * 3_600_000;

export interface TusUploads {
  /** Begins an upload under a new id, and answers by tus. False: refused, nothing was kept. */
  create(record: UploadRecord, raw: Raw): Promise<boolean>;
  read(id: string): Promise<UploadRecord | null>;
  readDone(id: string): Promise<UploadDone | null>;
  /** All bytes are there, but it was not finished: a kill came between. Finishes it; null when it is not so far. */
  finishIfWhole(id: string): Promise<UploadDone | null>;
  /** PATCH, HEAD and DELETE of an upload, answered by tus. */
  pass(id: string, raw: Raw): Promise<void>;
  /** Removes what has been left alone for a day. */
  sweep(): Promise<void>;
}
export interface Raw {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const newId = (): string => randomBytes(16).toString('hex');
/** How tus's server hands Node's own request on. */
type NodeRequest = Request & { readonly node?: { readonly req: IncomingMessage } };

/** What is under way on a volume, on the disk and in the ledger. */
function openUploads(volumePath: string, { ledger }: Placing) {
  const directory = tusOfVolume(volumePath);
  const records = uploadRecords(volumePath);
  const store = new HashingStore({ directory, expirationPeriodInMilliseconds: KEPT_MS });
  const held = new Set<string>();

  const release = (id: string): void => {
    ledger.release(id);
    held.delete(id);
  };
  return {
    directory,
    records,
    store,
    release,
    hold(id: string, { folderId, size, limits, jti }: UploadRecord): void {
      ledger.hold(id, { volumePath, folderId }, { bytes: size, limits, from: jti });
      held.add(id);
    },
    async drop(id: string): Promise<void> {
      await records.drop(id);
      store.forget(id);
      release(id);
    },
    heldBut: (open: ReadonlySet<string>): string[] => [...held].filter((id) => !open.has(id)),
  };
}
type Uploads = ReturnType<typeof openUploads>;

/** The end of an upload, in its turn: a second call answers what the first one did. What cannot be placed is removed, with all its bytes. */
function createFinish(volumePath: string, placing: Placing, uploads: Uploads): (id: string) => Promise<UploadDone> {
  const { directory, records, store } = uploads;
  const turns = createTurns();

  async function settle(id: string, record: UploadRecord, file: FileHandle): Promise<UploadDone> {
    const sha256 = await store.sha256(id, file, record.size);
    if (record.sha256 !== null && record.sha256 !== sha256) throw sumMismatch(sha256);
    await placing.ledger.mustStillFit(id, record.size, record.limits);
    await file.chmod(FILE_MODE);
    await file.sync();
    const place = { volumePath, folderId: record.folderId, parts: record.path.split('/') };
    await placeFile(placing, { ...place, partFile: join(directory, id), bytes: record.size, sha256 });
    const done = { ...record, sha256 };
    await records.finish(id, done);
    uploads.release(id);
    return done;
  }

  return (id) =>
    turns(id, async () => {
      const done = await records.readDone(id);
      if (done !== null) return done;
      const record = await records.read(id);
      if (record === null) throw problem('gone', 'the upload is gone: begin it again');
      const file = await open(join(directory, id), 'r+');
      try {
        return await settle(id, record, file);
      } catch (error) {
        await uploads.drop(id);
        throw error;
      } finally {
        await file.close();
      }
    });
}

/** Resumable uploads of one volume, by tus 1.0: parts and what is known of them lie on the volume, so any restart goes on. */
export async function openTusUploads(
  volume: { readonly name: string; readonly path: string },
  placing: Placing,
): Promise<TusUploads> {
  const uploads = openUploads(volume.path, placing);
  const { records, store } = uploads;
  const finish = createFinish(volume.path, placing, uploads);
  /** Chosen before tus sees the request, so that what is known of an upload is written first. */
  const ids = new WeakMap<object, string>();
  const server = new Server({
    path: `/v1/uploads/${volume.name}`,
    datastore: store,
    relativeLocation: true,
    namingFunction: (request) => ids.get((request as NodeRequest).node?.req ?? request) ?? newId(),
    onUploadFinish: async (_request, { id }) => ({ headers: { 'x-berth-sha256': (await finish(id)).sha256 } }),
    onResponseError: (_request, error) => asTusError(error),
  });
  server.on('POST_TERMINATE', (_request, _response, id) => void uploads.drop(id).catch(() => undefined));
  for (const [id, record] of await records.open(KEPT_MS)) uploads.hold(id, record);

  return {
    read: (id) => records.read(id),
    readDone: (id) => records.readDone(id),
    async create(record, { request, response }) {
      const id = newId();
      await records.write(id, record);
      uploads.hold(id, record);
      ids.set(request, id);
      answerProblems(response);
      await server.handle(request, response);
      const isMade = response.statusCode < 300;
      if (!isMade || store.isFull(id)) await uploads.drop(id);
      return isMade;
    },
    async finishIfWhole(id) {
      const upload = await store.getUpload(id).catch(() => null);
      return upload !== null && upload.size === upload.offset ? finish(id) : null;
    },
    async pass(id, { request, response }) {
      answerProblems(response);
      await server.handle(request, response);
      if (store.isFull(id)) await uploads.drop(id); // its bytes are in the way of others
    },
    async sweep() {
      const open = new Set((await records.open(KEPT_MS)).map(([id]) => id));
      for (const id of uploads.heldBut(open)) await uploads.drop(id);
    },
  };
}
