import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { createBeatContact } from './beat-contact.js';
import type { NodeHands } from './kernels.js';

const BEAT_MS_MAX = 5_000;
/** Beats within the limit of silence, so that one or two may be lost. */
const BEATS_A_LIMIT = 4;
const AGAIN_MS = 5_000;

type PresenceHands = Pick<NodeHands, 'afterSilence' | 'counts' | 'ending' | 'reachesTemporal' | 'contactMade'>;

/**
 * The node's beat until it is cancelled; cancelling it stops no container. A new beat means that the node was silent, so
 * it reconciles first of all, in the background: the beat must not wait for the API. An agent that ends says so at once.
 * Once it has reconciled, its beats are contact while Temporal answers: the ledger counts on them, and not on the API.
 */
export async function presence(hands: PresenceHands): Promise<void> {
  const context = Context.current();
  const limitMs = context.info.heartbeatTimeoutMs ?? Number.POSITIVE_INFINITY;
  let hasReconciled = false;
  const makeContact = createBeatContact(hands, limitMs);
  const isOver = (): boolean => context.cancellationSignal.aborted;
  const beat = (): void => {
    context.heartbeat(hands.counts());
    if (hasReconciled) void makeContact(isOver);
  };
  beat();
  const timer = setInterval(beat, Math.min(BEAT_MS_MAX, limitMs / BEATS_A_LIMIT));
  void reconcileOnce(hands, context).then((isDone) => {
    hasReconciled = isDone;
  });
  try {
    await Promise.race([context.cancelled, agentEnds(hands.ending)]);
  } finally {
    clearInterval(timer);
  }
}

function agentEnds(ending: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => reject(ApplicationFailure.create({ type: 'AgentEnds', message: 'the agent ends' }));
    ending.addEventListener('abort', end, { once: true });
    if (ending.aborted) end();
  });
}

/** False: the beat, or the agent, ended first. */
async function reconcileOnce({ afterSilence, ending }: PresenceHands, context: Context): Promise<boolean> {
  const signal = context.cancellationSignal;
  while (!signal.aborted && !ending.aborted) {
    try {
      await afterSilence(signal);
      return true;
    } catch (error) {
      context.log.warn('the reconciliation after a silence failed', { error: String(error) });
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref());
    }
  }
  return false;
}
