import { Context } from '@temporalio/activity';
import type { NodeHands } from './kernels.js';

const BEAT_MS = 5_000;
const AGAIN_MS = 5_000;

/**
 * The node's beat until it is cancelled; cancelling it stops no container. A new beat means that the node was silent, so
 * it reconciles first of all, in the background: the beat must not wait for the API.
 */
export async function presence(hands: Pick<NodeHands, 'afterSilence' | 'counts'>): Promise<void> {
  const context = Context.current();
  const beat = (): void => context.heartbeat(hands.counts());
  beat();
  const timer = setInterval(beat, BEAT_MS);
  void reconcileOnce(hands, context);
  try {
    await context.cancelled;
  } finally {
    clearInterval(timer);
  }
}

async function reconcileOnce({ afterSilence }: Pick<NodeHands, 'afterSilence'>, context: Context): Promise<void> {
  const signal = context.cancellationSignal;
  while (!signal.aborted) {
    try {
      return await afterSilence(signal);
    } catch (error) {
      context.log.warn('the reconciliation after a silence failed', { error: String(error) });
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}
