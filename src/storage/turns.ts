/** One at a time for each key, in the order of asking; what fails holds up nobody. */
export function createTurns(): <Result>(key: string, work: () => Promise<Result>) => Promise<Result> {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const turn = (last.get(key) ?? Promise.resolve()).then(work, work);
    const done = turn.catch(() => undefined);
    last.set(key, done);
    void done.then(() => {
      if (last.get(key) === done) last.delete(key);
    });
    return turn;
  };
}
