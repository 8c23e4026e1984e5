import type { TenantPhase } from './tenant.js';

/** Why a model does not serve now, or that it does. `Active` alone is forwarded. */
export type Serving =
  | 'Active'
  | 'EngineStarting'
  | 'EngineSleeping'
  | 'NoRoom'
  | 'MakingRoom'
  | 'WaitingForRoom'
  | 'Moving'
  | 'EngineFailed'
  | 'PoolEmpty'
  | 'TooLargeForAnyGpu'
  | 'Invalid'
  | 'FailedForGood';

/** What a client is told at once; the gateway never holds a request unless the claim asks for it. */
export type GatewayAnswer =
  | { readonly kind: 'forward' }
  | { readonly kind: 'later'; readonly code: string; readonly retryAfterSeconds: number; readonly asksWake: boolean }
  /** A retry cannot help. */
  | { readonly kind: 'never'; readonly code: string }
  /** A retry may help, and nobody knows when. */
  | { readonly kind: 'unavailable'; readonly code: string; readonly retryAfterSeconds: number };

/** Seconds that this model's last starts and wakes took; null: never seen. */
export interface MeasuredTimes {
  readonly startSeconds: number | null;
  readonly wakeSeconds: number | null;
}

/** What an instance's phase means for a client, where nothing worse is known of the claim. */
export const SERVING_OF: Readonly<Record<Exclude<TenantPhase, 'STOPPING'>, Serving>> = {
  STARTING: 'EngineStarting',
  ACTIVE: 'Active',
  SLEEPING: 'EngineSleeping',
  WAKING: 'EngineSleeping',
  MOVING: 'Moving',
};

const SOON_SECONDS = 10;
const ROOM_SECONDS = 20;
const FAR_SECONDS = 30;

/**
 * The answer to a request for a model, with Retry-After in whole seconds: what is left of a time that was measured, at least
 * half of it and at least 1, so that a client that obeys it twice is served; else the fixed figure of the state.
 */
export function gatewayAnswer(
  serving: Serving,
  measured: MeasuredTimes,
  /** Since the start or the wake began. */
  elapsedSeconds: number,
): GatewayAnswer {
  const later = (code: string, retryAfterSeconds: number, asksWake = false): GatewayAnswer => ({
    kind: 'later',
    code,
    retryAfterSeconds,
    asksWake,
  });
  switch (serving) {
    case 'Active':
      return { kind: 'forward' };
    case 'EngineStarting':
      return later('model_starting', remaining(measured.startSeconds, elapsedSeconds));
    case 'EngineSleeping':
      return later('model_asleep', remaining(measured.wakeSeconds, elapsedSeconds), true);
    case 'NoRoom':
    case 'EngineFailed':
      return later(serving === 'NoRoom' ? 'no_room' : 'engine_failed', SOON_SECONDS);
    case 'MakingRoom':
      return later('making_room', ROOM_SECONDS);
    case 'WaitingForRoom':
      return later('waiting_for_room', ROOM_SECONDS, true);
    case 'Moving':
      return later('moving', FAR_SECONDS);
    case 'PoolEmpty':
      return { kind: 'unavailable', code: 'pool_empty', retryAfterSeconds: FAR_SECONDS };
    case 'TooLargeForAnyGpu':
      return { kind: 'never', code: 'too_large_for_any_gpu' };
    case 'Invalid':
      return { kind: 'never', code: 'invalid' };
    case 'FailedForGood':
      return { kind: 'never', code: 'failed' };
  }
}

function remaining(takesSeconds: number | null, elapsedSeconds: number): number {
  if (takesSeconds === null) return SOON_SECONDS;
  return Math.max(1, Math.ceil(Math.max(takesSeconds - elapsedSeconds, takesSeconds / 2)));
}
