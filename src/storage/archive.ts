import type { FileHandle } from 'node:fs/promises';
import { PassThrough, type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';
import { ZipFile } from 'yazl';
import { openFile } from './directory.js';
import { type FilePlace, type Found, walkTree } from './walk.js';

export const ARCHIVE_TYPES = { tar: 'application/x-tar', zip: 'application/zip' } as const;
export type ArchiveKind = keyof typeof ARCHIVE_TYPES;

interface Archive {
  readonly stream: Readable;
  directory(path: string, mtime: Date): void;
  file(path: string, mtime: Date, content: { readonly bytes: number; readonly source: Readable }): Promise<void>;
  end(): void;
}

function tarArchive(): Archive {
  const archive = pack();
  return {
    stream: archive,
    directory: (path, mtime) => void archive.entry({ name: `${path}/`, type: 'directory', mtime, mode: 0o755 }),
    file: (path, mtime, { bytes, source }) =>
      pipeline(
        source,
        archive.entry({ name: path, size: bytes, mtime, mode: 0o644 }) as unknown as NodeJS.WritableStream,
      ),
    end: () => archive.finalize(),
  };
}

function zipArchive(): Archive {
  const archive = new ZipFile();
  return {
    stream: archive.outputStream as Readable,
    directory: (path, mtime) => archive.addEmptyDirectory(path, { mtime }),
    file: (path, mtime, { bytes, source }) =>
      new Promise((resolve, reject) => {
        source.once('end', resolve).once('error', reject).once('close', resolve);
        archive.addReadStream(source, path, { mtime, size: bytes, compress: false });
      }),
    end: () => archive.end(),
  };
}

/** Exactly so many bytes, or an error: a file that grows or shrinks meanwhile cannot break the archive. */
function exactly(bytes: number): Transform {
  let left = bytes;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const taken = chunk.length > left ? chunk.subarray(0, left) : chunk;
      left -= taken.length;
      done(null, taken);
    },
    flush: (done) => done(left === 0 ? null : new Error('a file became shorter while it was read')),
  });
}

async function addFile(archive: Archive, { directory, name, path, stat }: Found): Promise<void> {
  const file: FileHandle | null = await openFile(directory, name).catch(() => null); // gone, or no file by now
  if (file === null) return;
  const { size } = await file.stat();
  const source =
    size === 0 ? new PassThrough().end() : file.createReadStream({ end: size - 1, highWaterMark: 2 ** 18 });
  const content = source.pipe(exactly(size));
  source.once('error', (error: Error) => content.destroy(error));
  await archive.file(path, stat.mtime, { bytes: size, source: content });
  if (size === 0) await file.close();
}

/** What a selection names: itself and all below. Nothing named: all. */
const isChosen = (path: string, chosen: readonly string[]): 'yes' | 'maybe' | 'no' => {
  if (chosen.length === 0 || chosen.some((one) => path === one || path.startsWith(`${one}/`))) return 'yes';
  return chosen.some((one) => one.startsWith(`${path}/`)) ? 'maybe' : 'no';
};

/** A folder, or what is selected of it, as one stream; names are relative to the folder. Links and special files are left out. */
export function archiveTree(place: FilePlace, kind: ArchiveKind, chosen: readonly string[]): Readable {
  const archive = kind === 'tar' ? tarArchive() : zipArchive();
  walkTree(place, async (found) => {
    if (archive.stream.destroyed) return 'stop';
    const choice = isChosen(found.path, chosen);
    if (choice === 'yes' && found.stat.isDirectory()) archive.directory(found.path, found.stat.mtime);
    if (choice === 'yes' && found.stat.isFile()) await addFile(archive, found);
    return choice !== 'no';
  }).then(
    () => archive.end(),
    (error: unknown) => archive.stream.destroy(error instanceof Error ? error : undefined),
  );
  return archive.stream;
}
