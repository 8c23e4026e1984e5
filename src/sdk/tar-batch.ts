import { createHash } from 'node:crypto';
import { pack } from 'tar-stream';

/** A small file, whole in memory when its turn comes. */
export interface SmallFile {
  /** In the folder, relative to where the batch goes. */
  readonly path: string;
  readonly read: () => Promise<Uint8Array>;
}

/** The storage checks each file against it. */
const SUM_RECORD = 'BERTH.sha256';

/** One tar of many files, each with its SHA-256; `onFile` hears of each that is in. */
export function tarBatch(files: readonly SmallFile[], onFile: (bytes: number) => void): AsyncIterable<Uint8Array> {
  const archive = pack();
  const add = async (): Promise<void> => {
    for (const { path, read } of files) {
      const bytes = Buffer.from(await read());
      const pax = { [SUM_RECORD]: createHash('sha256').update(bytes).digest('hex') };
      await new Promise<void>((resolve, reject) => {
        archive.entry(
          { name: path, size: bytes.length, mode: 0o644, pax } as Parameters<typeof archive.entry>[0],
          bytes,
          (error) => (error ? reject(error) : resolve()),
        );
      });
      onFile(bytes.length);
    }
    archive.finalize();
  };
  add().catch((error: unknown) => archive.destroy(error instanceof Error ? error : new Error(String(error))));
  return archive;
}
