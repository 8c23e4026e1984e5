import type { Socket } from 'node:net';
import type { ActivityReport, SessionId } from '../contract/index.js';

interface Count {
  requests: number;
  inFlight: number;
  /** Of the last byte, by this process's clock. */
  lastMs: number;
}

/** A ping and its pong are some bytes, and pass whether somebody sits there or not. */
const SILENT_BYTES = 64;

/** What came since the last report, by session. */
export class ActivityCounts {
  readonly #counts = new Map<SessionId, Count>();
  readonly #sockets = new Map<Socket, { readonly sessionId: SessionId; bytes: number }>();

  /** `inFlight` is 1 for a request, which `ended` follows, and 0 for a connection, which is watched. */
  began(sessionId: SessionId, inFlight: 0 | 1): void {
    const count = this.#of(sessionId);
    count.requests += 1;
    count.inFlight += inFlight;
    count.lastMs = Date.now();
  }

  ended(sessionId: SessionId): void {
    const count = this.#of(sessionId);
    count.inFlight -= 1;
    count.lastMs = Date.now();
  }

  watch(sessionId: SessionId, client: Socket): void {
    this.#sockets.set(client, { sessionId, bytes: bytesOf(client) });
    client.once('close', () => this.#sockets.delete(client));
  }

  /** Empties it, but for what is in flight. */
  take(nowMs: number): ActivityReport['sessions'] {
    const moving = this.#moving(nowMs);
    const sessions = [...this.#counts].map(([sessionId, count]) => {
      const inFlight = count.inFlight + (moving.get(sessionId) ?? 0);
      return { sessionId, requests: count.requests, inFlight, quietMs: inFlight > 0 ? 0 : nowMs - count.lastMs };
    });
    for (const [sessionId, count] of this.#counts) {
      if (count.inFlight === 0) this.#counts.delete(sessionId);
      else count.requests = 0;
    }
    return sessions;
  }

  /** What was taken at `takenMs` and could not be told. */
  putBack(sessions: ActivityReport['sessions'], takenMs: number): void {
    for (const { sessionId, requests, quietMs } of sessions) {
      const count = this.#of(sessionId);
      count.requests += requests;
      count.lastMs = Math.max(count.lastMs, takenMs - quietMs);
    }
  }

  /** How many sockets of each session carried more than pings since the last look. */
  #moving(nowMs: number): ReadonlyMap<SessionId, number> {
    const moving = new Map<SessionId, number>();
    for (const [socket, seen] of this.#sockets) {
      const bytes = bytesOf(socket);
      if (bytes - seen.bytes > SILENT_BYTES) {
        moving.set(seen.sessionId, (moving.get(seen.sessionId) ?? 0) + 1);
        this.#of(seen.sessionId).lastMs = nowMs;
      }
      seen.bytes = bytes;
    }
    return moving;
  }

  #of(sessionId: SessionId): Count {
    const count = this.#counts.get(sessionId) ?? { requests: 0, inFlight: 0, lastMs: 0 };
    this.#counts.set(sessionId, count);
    return count;
  }
}

const bytesOf = ({ bytesRead, bytesWritten }: Socket): number => bytesRead + bytesWritten;
