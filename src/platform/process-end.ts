/** Why a process is asked to end. `orphaned`: its supervisor died, and the next one must find the ports free. */
export type EndReason = 'SIGTERM' | 'SIGINT' | 'orphaned';

/**
 * Calls `end` once, at the first of SIGTERM, SIGINT and the loss of the supervisor (its IPC channel), and then exits:
 * 0, or 1 when `end` fails or takes over `secondsMax`. Call it before the first `await` of a process.
 */
export function onEnd(end: (reason: EndReason) => Promise<void> | void, secondsMax = 30): void {
  let isEnding = false;
  const begin = (reason: EndReason): void => {
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(1), secondsMax * 1000).unref();
    void (async () => end(reason))().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', () => begin('SIGTERM'));
  process.on('SIGINT', () => begin('SIGINT'));
  process.on('disconnect', () => begin('orphaned'));
}
