import type { Logger } from '../../platform/log.js';
import { hashSecret, KEY_PREFIX } from '../../platform/tokens.js';
import type { GatewayKey, ModelRoute, ModelStore } from '../../store/model-store.js';
import { KeyLimits } from './key-limits.js';
import { within } from './within.js';

export interface GatewayKeysDeps {
  readonly models: Pick<ModelStore, 'gatewayKey'>;
  readonly log: Logger;
  /** Processes that share this port: each grants its share of a key's rates. */
  readonly workers: number;
}

const BEARER = /^Bearer +([\x21-\x7e]{1,512}) *$/i;
/** A key is asked for anew in the background from the first on, and is not served without an answer from the second on. */
const RENEWED_MS = 20_000;
const KEPT_MS = 30_000;
/** While Postgres is away a key that is known is good for longer: each so often it is asked for again. */
const AGAIN_MS = 5_000;
const UNKNOWN_MS = 2_000;
const LOOKUP_MS = 3_000;
const KNOWN_MAX = 10_000;
const LOOKUPS_MAX = 256;

/** A key as this process knows it. */
export class KnownKey {
  key: GatewayKey;
  readonly limits = new KeyLimits();
  #models: ReadonlySet<string> | null = null;

  constructor(key: GatewayKey) {
    this.key = key;
  }

  take(key: GatewayKey, share: number): void {
    this.key = key;
    this.#models = key.limits.models === null ? null : new Set(key.limits.models);
    this.limits.take(key.limits, share, performance.now());
  }

  /** What it may not use does not exist for it. */
  mayUse({ modelName, projects }: ModelRoute): boolean {
    if (this.#models !== null && !this.#models.has(modelName)) return false;
    return this.key.isOperator || projects.some((project) => this.key.projects.includes(project));
  }

  /** Whom a request for this model is charged to. */
  projectFor({ project, projects }: ModelRoute): string {
    return this.key.project ?? this.key.projects.find((own) => projects.includes(own)) ?? project;
  }
}

/** `unknown`: not a key of Berth's, or revoked, or none was sent. `away`: nobody can tell now. */
export type KeyAnswer = KnownKey | 'unknown' | 'away';

interface Cached {
  readonly known: KnownKey;
  /** When it was asked for, and when again at the earliest. */
  askedMs: number;
  againMs: number;
  /** Postgres did not answer the last time: who is known is served at once, and asked for beside. */
  isAway: boolean;
}

/** Berth's API keys by the Authorization header. At once where the key is known, so that the usual request waits for nothing. */
export class GatewayKeys {
  readonly #deps: GatewayKeysDeps;
  readonly #cached = new Map<string, Cached>();
  /** Headers of no key, so that they cost one look-up each two seconds; until when. */
  readonly #unknown = new Map<string, number>();
  readonly #asking = new Map<string, Promise<KeyAnswer>>();
  /** By id, so that a key that is read anew keeps what it has used up. */
  readonly #byId = new Map<string, KnownKey>();
  #era = 0;

  constructor(deps: GatewayKeysDeps) {
    this.#deps = deps;
  }

  of(header: string | undefined): KeyAnswer | Promise<KeyAnswer> {
    if (header === undefined) return 'unknown';
    const cached = this.#cached.get(header);
    const nowMs = performance.now();
    if (cached === undefined) return (this.#unknown.get(header) ?? 0) > nowMs ? 'unknown' : this.#ask(header);
    const mustWait = nowMs - cached.askedMs >= KEPT_MS && !cached.isAway;
    if (mustWait) return this.#ask(header);
    if (nowMs >= cached.againMs) {
      cached.againMs = nowMs + AGAIN_MS;
      void this.#ask(header);
    }
    return cached.known;
  }

  /** A key was revoked, or its limits changed: all are asked for again at their next request. */
  forget(): void {
    this.#era += 1;
    this.#asking.clear();
    this.#unknown.clear();
    for (const cached of this.#cached.values()) Object.assign(cached, { askedMs: -KEPT_MS, againMs: 0, isAway: false });
  }

  #ask(header: string): Promise<KeyAnswer> | 'unknown' | 'away' {
    const asking = this.#asking.get(header);
    if (asking !== undefined) return asking;
    const secret = BEARER.exec(header)?.[1];
    if (secret === undefined || !secret.startsWith(KEY_PREFIX)) return 'unknown';
    if (this.#asking.size >= LOOKUPS_MAX) return 'away';
    const answer = this.#look(header, hashSecret(secret)).finally(() => {
      if (this.#asking.get(header) === answer) this.#asking.delete(header);
    });
    this.#asking.set(header, answer);
    return answer;
  }

  async #look(header: string, hash: Buffer): Promise<KeyAnswer> {
    const era = this.#era;
    const askedMs = performance.now();
    try {
      const key = await within(LOOKUP_MS, this.#deps.models.gatewayKey(hash));
      if (key === null) {
        if (era === this.#era) this.#refuse(header, askedMs);
        return 'unknown';
      }
      const known = this.#known(key);
      const kept = { known, askedMs, againMs: askedMs + RENEWED_MS, isAway: false };
      if (era === this.#era) keep(this.#cached, header, kept);
      return known;
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'a key could not be read; what is known of it stands');
      const cached = this.#cached.get(header);
      if (cached === undefined) return 'away';
      if (era === this.#era) Object.assign(cached, { isAway: true, againMs: performance.now() + AGAIN_MS });
      return cached.known;
    }
  }

  #refuse(header: string, askedMs: number): void {
    this.#cached.delete(header);
    keep(this.#unknown, header, askedMs + UNKNOWN_MS);
  }

  #known(key: GatewayKey): KnownKey {
    const known = this.#byId.get(key.keyId) ?? new KnownKey(key);
    known.take(key, this.#deps.workers);
    keep(this.#byId, key.keyId, known);
    return known;
  }
}

/** The oldest gives way. */
function keep<T>(map: Map<string, T>, name: string, value: T): void {
  if (map.size >= KNOWN_MAX && !map.has(name)) for (const [oldest] of map) if (map.delete(oldest)) break;
  map.set(name, value);
}
