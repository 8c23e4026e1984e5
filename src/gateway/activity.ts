import type { Socket } from 'node:net';
import type { ActivityReport, SessionId } from '../contract/index.js';
import type { Logger } from '../platform/log.js';

export type RecordActivity = (report: ActivityReport) => Promise<void>;

/** What goes to the ports of sessions: the measure of whether somebody uses them. */
export interface Activity {
  /** A request that began; call what it returns once, when it has ended. */
  begin(sessionId: SessionId): () => void;
  /** An open connection: in flight while bytes move on it, and nothing while it is silent. */
  watch(sessionId: SessionId, client: Socket): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface Count {
  requests: number;
  inFlight: number;
  /** Of the last byte, by this process's clock. */
  lastMs: number;
}

/** A ping and its pong are some bytes, and pass whether somebody sits there or not. */
const SILENT_BYTES = 64;

interface ActivityDeps {
  /** Unique among gateways, and the same after a restart. */
  readonly gateway: string;
  readonly record: RecordActivity;
  readonly everyMs: number;
  readonly log: Logger;
}

/**
 * Counted in memory, told each `everyMs`, also when there was nothing: silence of a gateway is a gap, and a gap reclaims
 * nothing. What could not be told is told with the next report.
 */
export function createActivity({ gateway, record, everyMs, log }: ActivityDeps): Activity {
  const counts = new Map<SessionId, Count>();
  const sockets = new Map<Socket, { readonly sessionId: SessionId; bytes: number }>();

  const countOf = (sessionId: SessionId): Count => {
    const count = counts.get(sessionId) ?? { requests: 0, inFlight: 0, lastMs: 0 };
    counts.set(sessionId, count);
    return count;
  };
  const movingSockets = (): ReadonlyMap<SessionId, number> => {
    const moving = new Map<SessionId, number>();
    for (const [socket, seen] of sockets) {
      const bytes = socket.bytesRead + socket.bytesWritten;
      if (bytes - seen.bytes > SILENT_BYTES) {
        moving.set(seen.sessionId, (moving.get(seen.sessionId) ?? 0) + 1);
        countOf(seen.sessionId).lastMs = Date.now();
      }
      seen.bytes = bytes;
    }
    return moving;
  };
  const takeReport = (): ActivityReport['sessions'] => {
    const moving = movingSockets();
    const sessions = [...counts].map(([sessionId, count]) => {
      const inFlight = count.inFlight + (moving.get(sessionId) ?? 0);
      return { sessionId, requests: count.requests, inFlight, quietMs: inFlight > 0 ? 0 : Date.now() - count.lastMs };
    });
    for (const [sessionId, count] of counts) {
      if (count.inFlight === 0) counts.delete(sessionId);
      else count.requests = 0;
    }
    return sessions;
  };
  const putBack = (sessions: ActivityReport['sessions'], toldMs: number) => {
    for (const { sessionId, requests, quietMs } of sessions) {
      const count = countOf(sessionId);
      count.requests += requests;
      count.lastMs = Math.max(count.lastMs, toldMs - quietMs);
    }
  };
  const flush = async () => {
    const sessions = takeReport();
    const toldMs = Date.now();
    try {
      await record({ gateway, sessions });
    } catch (error) {
      log.warn({ err: error }, 'activity could not be recorded; it is told with the next report');
      putBack(sessions, toldMs);
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
      const count = countOf(sessionId);
      count.requests += 1;
      count.lastMs = Date.now();
      sockets.set(client, { sessionId, bytes: client.bytesRead + client.bytesWritten });
      client.once('close', () => sockets.delete(client));
    },
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}
