import type { GatewayKey } from '../../store/model-store.js';
import { TokenBucket } from './token-bucket.js';

export interface Refusal {
  readonly what: 'requests' | 'tokens';
  readonly perMinute: number;
  readonly retryAfterSeconds: number;
}

/** Requests and tokens a minute of one key, in one process's memory. */
export class KeyLimits {
  #requests: TokenBucket | null = null;
  #tokens: TokenBucket | null = null;

  /** Figures that did not change keep what was used up. */
  take(limits: GatewayKey['limits'], share: number, nowMs: number): void {
    this.#requests = renewed(this.#requests, { perMinute: limits.requestsPerMinute, share, nowMs });
    this.#tokens = renewed(this.#tokens, { perMinute: limits.tokensPerMinute, share, nowMs });
  }

  /** Null: one more request may go on. Takes nothing. */
  refuse(nowMs: number): Refusal | null {
    return refusalOf('requests', this.#requests, nowMs) ?? refusalOf('tokens', this.#tokens, nowMs);
  }

  forwarded(nowMs: number): void {
    this.#requests?.take(1, nowMs);
  }

  answered(tokens: number, nowMs: number): void {
    this.#tokens?.take(tokens, nowMs);
  }

  /** As OpenAI names them; none for a key without limits. Flat: name, value, name, value. */
  headers(nowMs: number): readonly string[] {
    if (this.#requests === null && this.#tokens === null) return NONE;
    return [...headersOf('requests', this.#requests, nowMs), ...headersOf('tokens', this.#tokens, nowMs)];
  }
}

const NONE: readonly string[] = [];

interface Wanted {
  readonly perMinute: number | null;
  readonly share: number;
  readonly nowMs: number;
}

function renewed(bucket: TokenBucket | null, { perMinute, share, nowMs }: Wanted): TokenBucket | null {
  if (perMinute === null) return null;
  return bucket?.perMinute === perMinute ? bucket : new TokenBucket(perMinute, share, nowMs);
}

function refusalOf(what: Refusal['what'], bucket: TokenBucket | null, nowMs: number): Refusal | null {
  const seconds = bucket?.secondsUntil(1, nowMs) ?? 0;
  if (bucket === null || seconds <= 0) return null;
  return { what, perMinute: bucket.perMinute, retryAfterSeconds: Math.max(1, Math.ceil(seconds)) };
}

function headersOf(what: Refusal['what'], bucket: TokenBucket | null, nowMs: number): readonly string[] {
  if (bucket === null) return NONE;
  const left = Math.max(0, Math.floor(bucket.left(nowMs)));
  const seconds = Math.ceil(bucket.secondsUntil(bucket.capacity, nowMs));
  return [
    ...[`x-ratelimit-limit-${what}`, String(bucket.perMinute)],
    ...[`x-ratelimit-remaining-${what}`, String(left)],
    ...[`x-ratelimit-reset-${what}`, `${seconds}s`],
  ];
}
