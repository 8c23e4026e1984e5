import { ApplicationFailure } from '@temporalio/common';
import { PlacementOver, startFailureOf } from '../../src/agent/start-failure.js';
import { WarmFailed } from '../../src/agent/warm-images.js';
import { withBeat } from './beat.js';
import {
  type NodeActivities,
  type NoticeKernels,
  type RemoveKernels,
  START_FAILURE,
  type StartKernels,
  WARM_FAILURE,
  type WarmImages,
} from './node-activities.js';
import { presence } from './presence.js';

export const PLACEMENT_OVER = 'PlacementOver';

interface Progress {
  readonly signal: AbortSignal;
  readonly onPhase: (phase: string) => void;
}

/** The agent's hands, as the activities need them: each call is safe to run twice. */
export interface NodeHands {
  readonly startKernels: (order: StartKernels, progress: Progress) => Promise<void>;
  readonly notice: (order: NoticeKernels) => Promise<void>;
  readonly warm: (order: WarmImages, progress: Progress) => Promise<void>;
  readonly removeKernels: (order: RemoveKernels, onPhase: (phase: string) => void) => Promise<void>;
  /** Reconciles when nothing was acknowledged since the node fell silent. */
  readonly afterSilence: (signal: AbortSignal) => Promise<void>;
  /** Asks Temporal for an answer: beats are sent and forgotten, and say nothing of whether they arrive. */
  readonly reachesTemporal: () => Promise<void>;
  /** The ledger does not take this node for lost. */
  readonly contactMade: () => void;
  readonly counts: () => Readonly<Record<string, number>>;
  /** Aborts when the agent is told to end: its presence ends then, what it does for sessions is given a moment. */
  readonly ending: AbortSignal;
}

export function createNodeActivities(hands: NodeHands): NodeActivities {
  return {
    startKernels: (order) =>
      withBeat(async (beat) => {
        try {
          await hands.startKernels(order, beat);
        } catch (error) {
          throw asActivityFailure(error);
        }
      }),
    removeKernels: (order) =>
      withBeat(({ onPhase, cancelled }) => Promise.race([hands.removeKernels(order, onPhase), cancelled])),
    notice: (order) => withBeat(({ cancelled }) => Promise.race([hands.notice(order), cancelled])),
    warm: (order) =>
      withBeat(async (beat) => {
        try {
          await hands.warm(order, beat);
        } catch (error) {
          throw asActivityFailure(error);
        }
      }),
    presence: () => presence(hands),
  };
}

/** What no further try here can mend is not retried; the rest goes back to Temporal as it is. */
function asActivityFailure(error: unknown): unknown {
  const failure = startFailureOf(error);
  if (failure !== undefined) {
    const { message } = failure;
    return ApplicationFailure.create({ type: START_FAILURE, message, nonRetryable: true, details: [failure] });
  }
  if (error instanceof WarmFailed) {
    const { message, retryable } = error;
    return ApplicationFailure.create({ type: WARM_FAILURE, message, nonRetryable: !retryable });
  }
  if (error instanceof PlacementOver) {
    return ApplicationFailure.create({ type: PLACEMENT_OVER, message: error.message, nonRetryable: true });
  }
  return error;
}
