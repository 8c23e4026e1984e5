import { Pool } from 'undici';
import type { ModelRoute } from '../../store/model-store.js';

export type TargetPlace = ModelRoute['targets'][number];

/** How long a target that refused a connection is left out; an engine that was restarted listens again by then, or refuses again. */
const REFUSED_MS = 1_000;
/** Shorter than the 5 s after which engines close an idle connection. */
const IDLE_MS = 4_000;
const CONNECT_MS = 3_000;
/** Lost machines send nothing: the kernel's probes find them. */
const PROBE_AFTER_MS = 15_000;

/** One engine: its connections, and what is under way to it. */
export class Target {
  readonly place: TargetPlace;
  readonly authorization: string;
  readonly origin: string;
  inFlight = 0;
  #pool: Pool | null = null;
  #refusedUntilMs = 0;

  constructor(place: TargetPlace, apiKey: string) {
    this.place = place;
    this.authorization = `Bearer ${apiKey}`;
    const host = place.host.includes(':') ? `[${place.host}]` : place.host;
    this.origin = `http://${host}:${place.port}`;
  }

  /** No time limit on the answer: a model may think for long; a client that leaves ends it. */
  get pool(): Pool {
    this.#pool ??= new Pool(this.origin, {
      ...{ headersTimeout: 0, bodyTimeout: 0, pipelining: 1, connections: null },
      ...{ keepAliveTimeout: IDLE_MS, keepAliveMaxTimeout: IDLE_MS },
      connect: { timeout: CONNECT_MS, keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS },
    });
    return this.#pool;
  }

  /** Off the route here at once; the ledger learns of it from the node. */
  refused(nowMs: number): void {
    this.#refusedUntilMs = nowMs + REFUSED_MS;
  }

  isOpen(nowMs: number): boolean {
    return nowMs >= this.#refusedUntilMs;
  }

  isAt({ instanceId, host, port, sealedApiKey }: TargetPlace): boolean {
    const { place } = this;
    const isHere = place.instanceId === instanceId && place.port === port && place.host === host;
    return isHere && place.sealedApiKey.equals(sealedApiKey);
  }

  /** What is under way to it is broken off. */
  destroy(): void {
    void this.#pool?.destroy();
    this.#pool = null;
  }
}
