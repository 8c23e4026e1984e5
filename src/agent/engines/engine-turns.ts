/** One order at a time an engine; a stop ends the one that is under way and waits until it has let go. */
export interface EngineTurns {
  readonly run: <T>(instanceId: string, signal: AbortSignal, step: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  readonly stop: <T>(instanceId: string, step: () => Promise<T>) => Promise<T>;
}

/** Why an order ended: a stop of its engine came. */
export class EngineStopped extends Error {
  override readonly name = 'EngineStopped';
}

interface Queue {
  last: Promise<unknown>;
  length: number;
  readonly running: Set<AbortController>;
}

export function createEngineTurns(): EngineTurns {
  const queues = new Map<string, Queue>();

  const inTurn = async <T>(instanceId: string, queue: Queue, step: () => Promise<T>): Promise<T> => {
    queue.length += 1;
    const result = queue.last.then(step);
    queue.last = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      queue.length -= 1;
      if (queue.length === 0) queues.delete(instanceId);
    }
  };
  const queueOf = (instanceId: string): Queue => {
    const queue = queues.get(instanceId) ?? { last: Promise.resolve(), length: 0, running: new Set() };
    queues.set(instanceId, queue);
    return queue;
  };

  return {
    run: async (instanceId, signal, step) => {
      const queue = queueOf(instanceId);
      const ending = new AbortController();
      queue.running.add(ending);
      const until = AbortSignal.any([signal, ending.signal]);
      try {
        return await inTurn(instanceId, queue, async () => {
          until.throwIfAborted();
          return step(until);
        });
      } finally {
        queue.running.delete(ending);
      }
    },
    stop: (instanceId, step) => {
      const queue = queueOf(instanceId);
      for (const ending of queue.running) ending.abort(new EngineStopped('the engine is being stopped'));
      return inTurn(instanceId, queue, step);
    },
  };
}
