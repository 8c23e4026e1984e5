import type { StreamFrame } from '../contract/index.js';
import { linesOf } from './lines.js';

/** Output of a kernel, as it comes: bytes of one of its two streams, then for `exec` the exit code. */
export type Frame =
  | { readonly kind: 'output'; readonly stream: 'stdout' | 'stderr'; readonly data: Uint8Array }
  | { readonly kind: 'exit'; readonly exitCode: number }
  | { readonly kind: 'error'; readonly error: string };

/** Frames of logs or exec. Frames of a kind that this version does not know are passed over. */
export async function* framesOf(response: Response): AsyncGenerator<Frame, void, undefined> {
  if (response.body === null) return;
  for await (const line of linesOf(response.body)) {
    const frame = asFrame(JSON.parse(line) as StreamFrame);
    if (frame !== undefined) yield frame;
  }
}

function asFrame(frame: StreamFrame): Frame | undefined {
  if ('stream' in frame) return { kind: 'output', stream: frame.stream, data: Buffer.from(frame.data, 'base64') };
  if ('exitCode' in frame) return { kind: 'exit', exitCode: frame.exitCode };
  if ('error' in frame) return { kind: 'error', error: frame.error };
  return undefined;
}
