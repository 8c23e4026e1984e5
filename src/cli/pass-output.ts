import type { Client, Frame } from '../sdk/index.js';

export interface OutputSource {
  readonly client: Client;
  readonly session: string;
  readonly signal: AbortSignal;
  /** A role; `main` when omitted. */
  readonly kernel?: string | undefined;
}
/** Bytes of each stream that went out already. */
export interface Passed {
  stdout: number;
  stderr: number;
}

/**
 * Both streams of a kernel to ours, without what went out before. True when it came to its end; false when it
 * broke off, as it does when a container is removed while it is read: what the node kept is read then.
 */
export async function passOutput(source: OutputSource, passed: Passed, how: 'follow' | 'kept'): Promise<boolean> {
  const { client, session, signal, kernel } = source;
  try {
    const frames = client.sessions.logs(session, { follow: how === 'follow', signal, kernel });
    return (await passFrames(frames, passed)) === undefined;
  } catch {
    return false;
  }
}

/** Skips what went out before, counts what goes out now. Gives what the node said where the output broke off. */
export async function passFrames(frames: AsyncIterable<Frame>, passed: Passed): Promise<string | undefined> {
  const skip = { ...passed };
  for await (const frame of frames) {
    if (frame.kind === 'error') return frame.error;
    if (frame.kind !== 'output') continue;
    const { stream, data } = frame;
    const skipped = Math.min(skip[stream], data.byteLength);
    skip[stream] -= skipped;
    passed[stream] += data.byteLength - skipped;
    await passFrame({ ...frame, data: data.subarray(skipped) });
  }
  return undefined;
}

/** Waits while the reader of our output is slow. */
export async function passFrame(frame: Frame): Promise<void> {
  if (frame.kind === 'error') process.stderr.write(`${frame.error}\n`);
  if (frame.kind !== 'output' || frame.data.byteLength === 0) return;
  const stream = frame.stream === 'stdout' ? process.stdout : process.stderr;
  if (!stream.write(frame.data)) await new Promise((resolve) => stream.once('drain', resolve));
}
