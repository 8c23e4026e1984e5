import type { Containers } from '../docker/containers.js';

const TAIL_BYTES_MAX = 65_536;
const TAIL_LINES_MAX = 2_000;

/** The end of a container's output as text, at most 64 KiB; empty when there is none to be had any more. */
export async function logTail(containers: Pick<Containers, 'logs'>, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const { data } of containers.logs(name, { tail: TAIL_LINES_MAX })) {
      chunks.push(data);
      bytes += data.length;
      while (bytes - (chunks[0]?.length ?? 0) >= TAIL_BYTES_MAX) bytes -= chunks.shift()?.length ?? 0;
    }
  } catch {
    // the container is gone, or the engine: an exit without its log is still an exit
  }
  return decodeTail(Buffer.concat(chunks));
}

/** Cut at a character, with a replacement for what is no UTF-8, and without NUL, which Postgres takes in no text. */
export function decodeTail(bytes: Buffer): string {
  let start = Math.max(0, bytes.length - TAIL_BYTES_MAX);
  if (start > 0) for (let steps = 0; steps < 3 && isContinuation(bytes[start]); steps += 1) start += 1;
  return new TextDecoder().decode(bytes.subarray(start)).replaceAll('\0', '\uFFFD');
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
