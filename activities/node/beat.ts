import { Context } from '@temporalio/activity';

const BEAT_MS = 1_000;

export interface Beat {
  /** Aborts when the activity is cancelled; a step that heeds it may end as it likes, the activity ends as cancelled. */
  readonly signal: AbortSignal;
  /** Rejects then: for a step that cannot be ended early. */
  readonly cancelled: Promise<never>;
  /** What the activity does now, shown in Temporal's UI as the heartbeat's details. */
  readonly onPhase: (phase: string) => void;
}

/** Runs a step with a heartbeat each second, whatever it waits for: a cancellation comes with the answer to a beat. */
export async function withBeat<T>(step: (beat: Beat) => Promise<T>): Promise<T> {
  const context = Context.current();
  const { cancellationSignal: signal, cancelled } = context;
  let phase = 'begins';
  const beat = (): void => context.heartbeat({ phase });
  const timer = setInterval(beat, BEAT_MS);
  const onPhase = (next: string): void => {
    phase = next;
    beat();
  };
  try {
    return await step({ signal, cancelled, onPhase });
  } catch (error) {
    if (signal.aborted) await cancelled; // throws what Temporal knows as a cancellation
    throw error;
  } finally {
    clearInterval(timer);
  }
}
