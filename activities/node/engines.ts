import { ApplicationFailure } from '@temporalio/common';
import { AnchorMissing } from '../../src/agent/engines/set-limits.js';
import type { LimitResult, OrderResult } from '../../src/contract/index.js';
import { type Beat, withBeat } from './beat.js';
import type { EngineActivities, EngineOrderInput, LimitsInput } from './engine-activities.js';

interface Progress {
  readonly signal: AbortSignal;
  readonly onPhase: (phase: string) => void;
}

/** The agent's hands for engines, as the activities need them: each call is safe to run twice. */
export interface EngineHands {
  readonly setLimits: (input: LimitsInput, signal: AbortSignal) => Promise<readonly LimitResult[]>;
  readonly startEngine: (order: EngineOrderInput, progress: Progress) => Promise<OrderResult>;
  readonly sleepEngine: (order: EngineOrderInput, progress: Progress) => Promise<OrderResult>;
  readonly wakeEngine: (
    order: EngineOrderInput & { readonly plannedBytes: number },
    progress: Progress,
  ) => Promise<OrderResult>;
  readonly stopEngine: (order: EngineOrderInput & { readonly drainSeconds: number }) => Promise<OrderResult>;
}

/** Below the 5 s that the planner waits: what is not written by then is not written later. */
const LIMITS_MS = 4_000;

export function createEngineActivities(hands: EngineHands): EngineActivities {
  return {
    setLimits: async (input) => {
      try {
        return await hands.setLimits(input, AbortSignal.timeout(LIMITS_MS));
      } catch (error) {
        if (!(error instanceof AnchorMissing)) throw error;
        throw ApplicationFailure.create({ type: error.name, message: error.message, nonRetryable: true });
      }
    },
    startEngine: (order) => withBeat((beat) => hands.startEngine(order, beat)),
    sleepEngine: (order) => withBeat((beat) => hands.sleepEngine(order, beat)),
    wakeEngine: (order) => withBeat((beat) => hands.wakeEngine(order, beat)),
    stopEngine: (order) => withBeat(({ cancelled }: Beat) => Promise.race([hands.stopEngine(order), cancelled])),
  };
}
