/** Resolves after the time, or at once when aborted. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener('abort', done, { once: true });
  });
}

export interface RetryOptions {
  /** Aborting ends the tries; the signal's reason is thrown. */
  readonly signal?: AbortSignal;
  /** For ever without it. */
  readonly triesMax?: number;
  readonly firstMs?: number;
  readonly mostMs?: number;
  /** False: thrown at once. */
  readonly isRetryable?: (error: unknown) => boolean;
  readonly onFailure?: (error: unknown, pauseMs: number) => void;
}

/** Tries with doubling pauses, each with a random part, so that a fleet does not come back in one beat. */
export async function retry<T>(step: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { signal, triesMax = Number.POSITIVE_INFINITY, firstMs = 200, mostMs = 5_000 } = options;
  for (let tries = 1; ; tries += 1) {
    signal?.throwIfAborted();
    try {
      return await step();
    } catch (error) {
      if (signal?.aborted === true || tries >= triesMax || options.isRetryable?.(error) === false) throw error;
      const pauseMs = Math.min(firstMs * 2 ** (tries - 1), mostMs) * (0.5 + Math.random() / 2);
      options.onFailure?.(error, pauseMs);
      await pause(pauseMs, signal);
    }
  }
}
