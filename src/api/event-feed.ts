import type { Logger } from '../platform/log.js';
import type { EventStore } from '../store/store.js';

/** Wakes those who wait for news of a session. It carries none: they read again. */
export interface EventFeed {
  /** Resolves at the session's next event, after a reconnect, or after `timeoutMs`; never rejects. Call it before reading. */
  next(sessionId: string, timeoutMs: number, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

type Wake = () => void;

/** One LISTEN for the whole process, opened at the first wait. While it cannot be had, the time-outs alone bring news. */
export function createEventFeed(events: EventStore, log: Logger): EventFeed {
  const waiting = new Map<string, Set<Wake>>();
  let listening: Promise<{ close(): Promise<void> } | null> | undefined;
  const wakeOne = (sessionId: string) => waiting.get(sessionId)?.forEach((wake) => wake());
  const wakeAll = () => waiting.forEach((wakes) => wakes.forEach((wake) => wake()));

  const listen = () => {
    listening ??= events.listen({ session: wakeOne, reconnect: wakeAll }).catch((error: unknown) => {
      log.warn({ err: error }, 'no notifications; reading again each second instead');
      listening = undefined;
      return null;
    });
  };

  const forget = (sessionId: string, wake: Wake) => {
    const wakes = waiting.get(sessionId);
    wakes?.delete(wake);
    if (wakes?.size === 0) waiting.delete(sessionId);
  };

  return {
    next(sessionId, timeoutMs, signal) {
      listen();
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
          forget(sessionId, wake);
          resolve();
        };
        const timer = setTimeout(wake, timeoutMs);
        signal.addEventListener('abort', wake, { once: true });
        const wakes = waiting.get(sessionId) ?? new Set();
        waiting.set(sessionId, wakes.add(wake));
        if (signal.aborted) wake();
      });
    },
    async close() {
      wakeAll();
      await (await listening)?.close();
    },
  };
}
