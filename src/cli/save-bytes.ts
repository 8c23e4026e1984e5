import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { finished } from 'node:stream/promises';

export interface Saved {
  readonly bytes: number;
  readonly sha256: string;
}

/** Writes to `target` (`-` is stdout). A file appears whole or not at all. */
export async function saveBytes(source: AsyncIterable<Uint8Array>, target: string): Promise<Saved> {
  if (target === '-') return pass(source, process.stdout);
  const partial = `${target}.${process.pid}.partial`;
  const file = createWriteStream(partial);
  try {
    const saved = await pass(source, file);
    file.end();
    await finished(file);
    await rename(partial, target);
    return saved;
  } catch (error) {
    file.destroy();
    await rm(partial, { force: true });
    throw error;
  }
}

async function pass(source: AsyncIterable<Uint8Array>, target: NodeJS.WritableStream): Promise<Saved> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of source) {
    hash.update(chunk);
    bytes += chunk.byteLength;
    if (!target.write(chunk)) await new Promise((resolve) => target.once('drain', resolve));
  }
  return { bytes, sha256: hash.digest('hex') };
}
