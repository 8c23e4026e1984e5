import type { Client, Frame } from '../sdk/index.js';

export interface OutputSource {
  readonly client: Client;
  readonly session: string;
  readonly signal: AbortSignal;
}
/** Bytes of each stream that went out already. */
export interface Passed {
  stdout: number;
  stderr: number;
}

/**
 * Both streams of the main kernel to ours, without what went out before. True when it came to its end; false when it
 * broke off, as it does when a container is removed while it is read: what the node kept is read then.
 */
export async function passOutput(source: OutputSource, passed: Passed, how: 'follow' | 'kept'): Promise<boolean> {
  const { client, session, signal } = source;
  const skip = { ...passed };
  try {
    for await (const frame of client.sessions.logs(session, { follow: how === 'follow', signal })) {
      if (frame.kind === 'error') return false;
      if (frame.kind !== 'output') continue;
      const { stream, data } = frame;
      const skipped = Math.min(skip[stream], data.byteLength);
      skip[stream] -= skipped;
      passed[stream] += data.byteLength - skipped;
      await passFrame({ ...frame, data: data.subarray(skipped) });
    }
    return true;
  } catch {
    return false;
  }
}

/** Waits while the reader of our output is slow. */
export async function passFrame(frame: Frame): Promise<void> {
  if (frame.kind === 'error') process.stderr.write(`${frame.error}\n`);
  if (frame.kind !== 'output' || frame.data.byteLength === 0) return;
  const stream = frame.stream === 'stdout' ? process.stdout : process.stderr;
  if (!stream.write(frame.data)) await new Promise((resolve) => stream.once('drain', resolve));
}
