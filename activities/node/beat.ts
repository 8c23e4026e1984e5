import { Context } from '@temporalio/activity';

const BEAT_MS = 3_000;

export interface Beat {
  readonly signal: AbortSignal;
  /** What the activity does now, shown in Temporal's UI as the heartbeat's details. */
  readonly onPhase: (phase: string) => void;
}

/**
 * Runs a step with a heartbeat every few seconds, whatever it waits for; its signal aborts when the activity is cancelled.
 * A cancelled step ends as cancelled, also where it threw something else on its way out.
 */
export async function withBeat<T>(step: (beat: Beat) => Promise<T>): Promise<T> {
  const context = Context.current();
  let phase = 'begins';
  const beat = (): void => context.heartbeat({ phase });
  const timer = setInterval(beat, BEAT_MS);
  const onPhase = (next: string): void => {
    phase = next;
    beat();
  };
  try {
    return await Promise.race([step({ signal: context.cancellationSignal, onPhase }), context.cancelled]);
  } finally {
    clearInterval(timer);
  }
}
