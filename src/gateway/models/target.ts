import { Pool } from 'undici';

/** An engine of a model claim, or a replica of a deployment. */
export interface TargetPlace {
  readonly instanceId: string;
  readonly host: string;
  readonly port: number;
  /** Null: it asks for none. */
  readonly sealedApiKey: Buffer | null;
}

/** How long a target that refused a connection is left out: twice as long each time while it goes on refusing, up to the most. */
const REFUSED_MS = 1_000;
const REFUSED_MAX_MS = 5_000;
/** Shorter than the 5 s after which engines close an idle connection. */
const IDLE_MS = 4_000;
const CONNECT_MS = 3_000;
/** Lost machines send nothing: the kernel's probes find them. */
const PROBE_AFTER_MS = 15_000;

/** One engine: its connections, and what is under way to it. */
export class Target {
  readonly place: TargetPlace;
  /** Null: it asks for no key. */
  readonly authorization: string | null;
  readonly origin: string;
  inFlight = 0;
  #pool: Pool | null = null;
  #refusedUntilMs = 0;
  #refusedMs = 0;

  constructor(place: TargetPlace, apiKey: string | null) {
    this.place = place;
    this.authorization = apiKey === null ? null : `Bearer ${apiKey}`;
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
    if (!this.isOpen(nowMs)) return; // another request of the same moment
    this.#refusedMs = Math.min(REFUSED_MAX_MS, Math.max(REFUSED_MS, 2 * this.#refusedMs));
    this.#refusedUntilMs = nowMs + this.#refusedMs;
  }

  /** A request is on its way to it. */
  begin(): void {
    this.inFlight += 1;
  }

  /** It took a connection, and the request is sent. */
  connected(): void {
    this.#refusedMs = 0;
  }

  /** The request is over. */
  end(_hasFailed: boolean): void {
    this.inFlight -= 1;
  }

  /** The last connection was refused. */
  get isRefusing(): boolean {
    return this.#refusedMs > 0;
  }

  isOpen(nowMs: number): boolean {
    return nowMs >= this.#refusedUntilMs;
  }

  isAt({ instanceId, host, port, sealedApiKey }: TargetPlace): boolean {
    const { place } = this;
    const isHere = place.instanceId === instanceId && place.port === port && place.host === host;
    return isHere && isSameKey(place.sealedApiKey, sealedApiKey);
  }

  /** What is under way to it is broken off. */
  destroy(): void {
    void this.#pool?.destroy();
    this.#pool = null;
  }
}

const isSameKey = (one: Buffer | null, other: Buffer | null): boolean =>
  one === null || other === null ? one === other : one.equals(other);
