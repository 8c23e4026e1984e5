/**
 * One thing at a time a key (a session, or an engine): an end stops the steps that are under way or wait, and waits until they
 * have let go, so that nothing is made behind its back; a step that is tried again waits for its own first try.
 */
export interface Turns {
  /** `signal` aborts the step; so does an end of the same key. */
  readonly run: <T>(key: string, signal: AbortSignal, step: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  readonly end: <T>(key: string, step: () => Promise<T>) => Promise<T>;
  /** A step of it runs or waits. */
  readonly isRunning: (key: string) => boolean;
  /** Keys of which a step runs or waits. */
  readonly running: () => number;
}

interface Queue {
  /** Settles, and never rejects, when the last one in line is done. */
  last: Promise<unknown>;
  length: number;
  readonly steps: Set<AbortController>;
}

/** `ended`: why a step was aborted where an end came. */
export function createTurns(ended: () => Error): Turns {
  const queues = new Map<string, Queue>();

  const inTurn = async <T>(key: string, queue: Queue, step: () => Promise<T>): Promise<T> => {
    queue.length += 1;
    const result = queue.last.then(step);
    queue.last = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      queue.length -= 1;
      if (queue.length === 0) queues.delete(key);
    }
  };

  const queueOf = (key: string): Queue => {
    const queue = queues.get(key) ?? { last: Promise.resolve(), length: 0, steps: new Set() };
    queues.set(key, queue);
    return queue;
  };

  return {
    run: async (key, signal, step) => {
      const queue = queueOf(key);
      const ending = new AbortController();
      queue.steps.add(ending);
      const until = AbortSignal.any([signal, ending.signal]);
      try {
        return await inTurn(key, queue, async () => {
          until.throwIfAborted();
          return step(until);
        });
      } finally {
        queue.steps.delete(ending);
      }
    },
    end: (key, step) => {
      const queue = queueOf(key);
      for (const ending of queue.steps) ending.abort(ended());
      return inTurn(key, queue, step);
    },
    isRunning: (key) => (queues.get(key)?.steps.size ?? 0) > 0,
    running: () => [...queues.values()].filter((queue) => queue.steps.size > 0).length,
  };
}
