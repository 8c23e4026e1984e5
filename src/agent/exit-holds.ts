/** Keys of runs that are being started, and of those whose start failed: their exits wait, or are told to nobody. */
export interface ExitHolds {
  /** Call what is returned when the start's outcome is known; holding a run again forgets an earlier outcome. */
  readonly hold: (key: string) => (outcome: 'tell' | 'drop') => void;
  /** Resolves with the outcome, at once for a run that is not held. */
  readonly outcome: (key: string) => Promise<'tell' | 'drop'>;
  readonly forget: (key: string) => void;
}

export function createExitHolds(): ExitHolds {
  const held = new Map<string, Promise<void>>();
  const dropped = new Set<string>();
  return {
    hold: (key) => {
      let free: () => void = () => undefined;
      held.set(
        key,
        new Promise((resolve) => {
          free = resolve;
        }),
      );
      dropped.delete(key);
      return (outcome) => {
        if (outcome === 'drop') dropped.add(key);
        held.delete(key);
        free();
      };
    },
    outcome: async (key) => {
      await held.get(key);
      return dropped.has(key) ? 'drop' : 'tell';
    },
    forget: (key) => void dropped.delete(key),
  };
}
