/** Runs the step with a signal that aborts after the time, or with `signal`; leaves no listener behind. */
export async function within<T>(
  milliseconds: number,
  signal: AbortSignal,
  step: (until: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(abort, milliseconds);
  try {
    return await step(controller.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
