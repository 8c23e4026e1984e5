/** Runs `work`, which never rejects, once for all calls that came while it ran before. */
export function oneAtATime(work: () => Promise<void>): () => void {
  let isRunning = false;
  let isAsked = false;
  const run = async (): Promise<void> => {
    isRunning = true;
    while (isAsked) {
      isAsked = false;
      await work();
    }
    isRunning = false;
  };
  return () => {
    isAsked = true;
    if (!isRunning) void run();
  };
}
