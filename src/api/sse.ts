import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';

const HEARTBEAT_MS = 15_000;
/** A client that has not read for so long is dropped: it resumes with Last-Event-ID. */
const STALLED_MS = 30_000;

export interface SseStream {
  readonly closed: AbortSignal;
  /** Waits while the client does not read; rejects with an abort when it is gone or stalled for too long. */
  send(event: { readonly id: string; readonly event: string; readonly data: unknown }): Promise<void>;
  end(): void;
}

/** Takes the reply over and sends the head at once. Buffers at most what the socket holds, whatever the client's pace. */
export function openSse(reply: FastifyReply): SseStream {
  const raw: ServerResponse = reply.hijack().raw;
  const gone = new AbortController();
  raw.on('close', () => gone.abort());
  raw.on('error', () => gone.abort());
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  raw.write('retry: 1000\n\n');
  const heartbeat = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(': still here\n\n');
  }, HEARTBEAT_MS);
  gone.signal.addEventListener('abort', () => clearInterval(heartbeat), { once: true });

  const drained = async (): Promise<void> => {
    if (!raw.writableNeedDrain) return;
    try {
      await once(raw, 'drain', { signal: AbortSignal.any([gone.signal, AbortSignal.timeout(STALLED_MS)]) });
    } catch (error) {
      raw.destroy();
      throw error;
    }
  };

  return {
    closed: gone.signal,
    async send({ id, event, data }) {
      if (gone.signal.aborted) return;
      raw.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      await drained();
    },
    end() {
      clearInterval(heartbeat);
      raw.end();
    },
  };
}
