export interface Work<Result, Progress> {
  /** Called by the first who asks only. Its signal aborts once the last one who waits has gone. */
  readonly start: (report: (progress: Progress) => void, signal: AbortSignal) => Promise<Result>;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  readonly signal: AbortSignal | undefined;
}

interface Running<Result, Progress> {
  readonly result: Promise<Result>;
  readonly listeners: Set<(progress: Progress) => void>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * One piece of work per key, however many ask for it at a time; the next one to ask after its end starts anew. A
 * caller whose signal aborts gets the signal's reason, and the others go on.
 */
export function createSharedWork<Result, Progress>() {
  const running = new Map<string, Running<Result, Progress>>();

  const begin = (key: string, { start }: Work<Result, Progress>): Running<Result, Progress> => {
    const controller = new AbortController();
    const listeners = new Set<(progress: Progress) => void>();
    const report = (progress: Progress): void => {
      for (const listener of listeners) listener(progress);
    };
    const work = { result: start(report, controller.signal), listeners, controller, waiting: 0 };
    const forget = (): void => {
      if (running.get(key) === work) running.delete(key);
    };
    work.result.then(forget, forget);
    running.set(key, work);
    return work;
  };

  return async (key: string, request: Work<Result, Progress>): Promise<Result> => {
    request.signal?.throwIfAborted();
    const work = running.get(key) ?? begin(key, request);
    const listener = (progress: Progress): void => request.onProgress?.(progress);
    work.listeners.add(listener);
    work.waiting += 1;
    try {
      return await until(work.result, request.signal);
    } finally {
      work.listeners.delete(listener);
      work.waiting -= 1;
      if (work.waiting === 0) {
        if (running.get(key) === work) running.delete(key);
        work.controller.abort();
      }
    }
  };
}

function until<T>(result: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return result;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
