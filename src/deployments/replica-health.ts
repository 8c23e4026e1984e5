import type { Health, RouteState } from './replica.js';

/** How a replica is asked whether it can serve. */
export interface HealthRules {
  /** From the container's start to the first success at most: a time limit, never a sleep. */
  readonly initialDelayMs: number;
  /** So many misses in a row make it unhealthy. */
  readonly failures: number;
  /** Without a check it is healthy as soon as it runs. */
  readonly hasCheck: boolean;
}

export interface HealthState {
  readonly route: RouteState;
  readonly health: Health;
  readonly missesInARow: number;
  readonly lastMessage: string | null;
}

export type HealthEvent =
  | { readonly kind: 'started' }
  | { readonly kind: 'success' }
  /** `refused`: nobody listens, which needs no second try once it has served. */
  | { readonly kind: 'miss'; readonly refused: boolean; readonly message: string }
  /** Time passed: `sinceStartMs` since its container started. */
  | { readonly kind: 'tick'; readonly sinceStartMs: number };

export const PROVISIONED: HealthState = {
  route: 'PROVISIONING',
  health: 'unknown',
  missesInARow: 0,
  lastMessage: null,
};

/**
 * What an event makes of a replica. `unhealthy` takes it off the route at once; whoever converges replaces it. Before the first
 * success a miss means nothing, and only the warm-up's time limit ends it.
 */
export function nextHealth(state: HealthState, event: HealthEvent, rules: HealthRules): HealthState {
  if (state.route === 'DRAINING' || state.route === 'ENDED' || state.health === 'unhealthy') return state;
  switch (event.kind) {
    case 'started':
      return rules.hasCheck ? { ...state, route: 'WARMING' } : SERVING;
    case 'success':
      return SERVING;
    case 'miss':
      return afterMiss(state, event, rules);
    case 'tick':
      return isWarmUpOver(state, event.sinceStartMs, rules) ? neverHealthy(state, rules) : state;
  }
}

const SERVING: HealthState = { route: 'ACTIVE', health: 'healthy', missesInARow: 0, lastMessage: null };

function afterMiss(
  state: HealthState,
  { refused, message }: Extract<HealthEvent, { kind: 'miss' }>,
  { failures }: HealthRules,
): HealthState {
  if (state.route !== 'ACTIVE') return { ...state, lastMessage: message };
  const missesInARow = state.missesInARow + 1;
  const isOut = refused || missesInARow >= failures;
  return { ...state, health: isOut ? 'unhealthy' : 'degraded', missesInARow, lastMessage: message };
}

const isWarmUpOver = ({ route }: HealthState, sinceStartMs: number, { initialDelayMs }: HealthRules): boolean =>
  route === 'WARMING' && sinceStartMs > initialDelayMs;

function neverHealthy(state: HealthState, { initialDelayMs }: HealthRules): HealthState {
  const last = state.lastMessage === null ? '' : `; last answer: ${state.lastMessage}`;
  return { ...state, health: 'unhealthy', lastMessage: `not healthy within ${initialDelayMs / 1000} s${last}` };
}
