import type { Socket } from 'node:net';
import type { SessionId } from '../contract/index.js';
import type { Logger } from '../platform/log.js';

/** What went to the ports of one session since the last batch. */
export interface AppActivity {
  readonly sessionId: SessionId;
  /** That began. */
  readonly requests: number;
  /** Requests and open sockets at the end of the batch. */
  readonly inFlight: number;
  /** RFC 3339; null when nothing came: a socket that is open and silent is no activity. */
  readonly lastActivityAt: string | null;
}

export type RecordActivity = (batch: readonly AppActivity[]) => Promise<void>;

export interface Activity {
  /** A request that began; call what it returns once, when it has ended. */
  begin(sessionId: SessionId): () => void;
  /** Bytes of the client on an open socket count as they come. */
  watch(sessionId: SessionId, client: Socket): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface Count {
  requests: number;
  inFlight: number;
  lastMs: number;
}

/** A pong is 6 bytes, and a client answers each ping of the app whether somebody sits there or not. */
const SILENT_BYTES = 64;

interface ActivityDeps {
  readonly record: RecordActivity;
  readonly everyMs: number;
  readonly log: Logger;
}

/** Counted in memory, told in batches. A batch that could not be told is counted into the next one. */
export function createActivity({ record, everyMs, log }: ActivityDeps): Activity {
  const counts = new Map<SessionId, Count>();
  const sockets = new Map<Socket, { readonly sessionId: SessionId; bytes: number }>();

  const countOf = (sessionId: SessionId): Count => {
    const count = counts.get(sessionId) ?? { requests: 0, inFlight: 0, lastMs: 0 };
    counts.set(sessionId, count);
    return count;
  };
  const lookAtSockets = () => {
    for (const [socket, seen] of sockets) {
      if (socket.bytesRead - seen.bytes > SILENT_BYTES) countOf(seen.sessionId).lastMs = Date.now();
      seen.bytes = socket.bytesRead;
    }
  };
  const takeBatch = (): AppActivity[] => {
    lookAtSockets();
    const batch = [...counts].map(([sessionId, { requests, inFlight, lastMs }]) => ({
      sessionId,
      requests,
      inFlight,
      lastActivityAt: lastMs === 0 ? null : new Date(lastMs).toISOString(),
    }));
    for (const [sessionId, count] of counts) {
      if (count.inFlight === 0) counts.delete(sessionId);
      else Object.assign(count, { requests: 0, lastMs: 0 });
    }
    return batch;
  };
  const putBack = (batch: readonly AppActivity[]) => {
    for (const { sessionId, requests, lastActivityAt } of batch) {
      const count = countOf(sessionId);
      count.requests += requests;
      if (lastActivityAt !== null) count.lastMs = Math.max(count.lastMs, Date.parse(lastActivityAt));
    }
  };
  const flush = async () => {
    const batch = takeBatch();
    if (batch.length === 0) return;
    try {
      await record(batch);
    } catch (error) {
      log.warn({ err: error }, 'activity could not be recorded; it is told with the next batch');
      putBack(batch);
    }
  };
  const timer = setInterval(() => void flush(), everyMs);

  return {
    begin(sessionId) {
      const count = countOf(sessionId);
      count.requests += 1;
      count.inFlight += 1;
      count.lastMs = Date.now();
      return () => {
        const now = countOf(sessionId);
        now.inFlight -= 1;
        now.lastMs = Date.now();
      };
    },
    watch(sessionId, client) {
      sockets.set(client, { sessionId, bytes: client.bytesRead });
      client.once('close', () => sockets.delete(client));
    },
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}
