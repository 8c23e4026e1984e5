/**
 * One thing at a time a session: a removal ends the start that is under way and waits until it has let go, so that
 * nothing is created behind its back, and a start that is tried again waits for its own first try.
 */
export interface Turns {
  /** `signal` aborts the start; so does a removal of the same session. */
  readonly start: <T>(sessionId: string, signal: AbortSignal, step: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  readonly remove: <T>(sessionId: string, step: () => Promise<T>) => Promise<T>;
  readonly isStarting: (sessionId: string) => boolean;
  readonly starting: () => number;
}

interface Queue {
  /** Settles, and never rejects, when the last one in line is done. */
  last: Promise<unknown>;
  length: number;
  readonly starts: Set<AbortController>;
}

export function createTurns(): Turns {
  const queues = new Map<string, Queue>();

  const inTurn = async <T>(sessionId: string, queue: Queue, step: () => Promise<T>): Promise<T> => {
    queue.length += 1;
    const result = queue.last.then(step);
    queue.last = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      queue.length -= 1;
      if (queue.length === 0) queues.delete(sessionId);
    }
  };

  const queueOf = (sessionId: string): Queue => {
    const queue = queues.get(sessionId) ?? { last: Promise.resolve(), length: 0, starts: new Set() };
    queues.set(sessionId, queue);
    return queue;
  };

  return {
    start: async (sessionId, signal, step) => {
      const queue = queueOf(sessionId);
      const controller = new AbortController();
      const abort = (): void => controller.abort(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      queue.starts.add(controller);
      try {
        return await inTurn(sessionId, queue, async () => {
          controller.signal.throwIfAborted();
          return step(controller.signal);
        });
      } finally {
        queue.starts.delete(controller);
        signal.removeEventListener('abort', abort);
      }
    },
    remove: (sessionId, step) => {
      const queue = queueOf(sessionId);
      for (const controller of queue.starts) controller.abort(new Error('the session is being removed'));
      return inTurn(sessionId, queue, step);
    },
    isStarting: (sessionId) => (queues.get(sessionId)?.starts.size ?? 0) > 0,
    starting: () => [...queues.values()].filter((queue) => queue.starts.size > 0).length,
  };
}
