import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { StreamFrame } from '../contract/index.js';
import type { ExitFrame } from '../docker/exec.js';
import type { OutputFrame } from '../docker/frames.js';

/**
 * Writes frames as newline-delimited JSON, as fast as the other side reads. What goes wrong after the first byte is a
 * last frame with the error, since the status has been sent by then.
 */
export async function sendFrames(
  response: ServerResponse,
  frames: AsyncIterable<OutputFrame | ExitFrame>,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
  response.flushHeaders();
  try {
    for await (const frame of frames) {
      if (signal.aborted) return;
      if (!response.write(`${JSON.stringify(wireFrame(frame))}\n`)) await once(response, 'drain', { signal });
    }
  } catch (error) {
    if (signal.aborted) return;
    const message = error instanceof Error ? error.message : 'failed';
    response.write(`${JSON.stringify({ error: message } satisfies StreamFrame)}\n`);
  } finally {
    response.end();
  }
}

function wireFrame(frame: OutputFrame | ExitFrame): StreamFrame {
  if (frame.stream === 'exit') return { exitCode: frame.exitCode };
  return { stream: frame.stream, data: frame.data.toString('base64') };
}
