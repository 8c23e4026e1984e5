import { setTimeout as pause } from 'node:timers/promises';
import { CliError } from '../cli-error.js';

/** What a client of the gateway gets, as far as it goes by it. */
export interface Answer {
  readonly model: string;
  readonly status: number;
  readonly retryAfterSeconds: number | null;
  /** `x-should-retry`; null where the header is not there. */
  readonly shouldRetry: string | null;
  /** The reason's code; null where it serves. */
  readonly reason: string | null;
}

/** Requests that stream until they are stopped: how a model serves. */
export interface Load {
  /** Throws when a stream ended by itself, or was never let in. */
  readonly check: () => void;
  readonly stop: () => Promise<void>;
}

const TOKENS = 2_000;
const FIRST_WORD_SECONDS_MAX = 20;

/** Speaks OpenAI's protocol to the gateway, with one key. */
export class ModelsClient {
  readonly #url: string;
  readonly #key: string;
  readonly #loads = new Set<Load>();

  constructor(gatewayUrl: string, key: string) {
    this.#url = new URL('/v1/chat/completions', gatewayUrl).href;
    this.#key = key;
  }

  async ask(model: string): Promise<Answer> {
    const response = await this.#post(model, { max_tokens: 1 });
    const body = (await response.json()) as { readonly error?: { readonly reason?: { readonly code?: string } } };
    const retryAfter = response.headers.get('retry-after');
    return {
      model,
      status: response.status,
      retryAfterSeconds: retryAfter === null ? null : Number(retryAfter),
      shouldRetry: response.headers.get('x-should-retry'),
      reason: body.error?.reason?.code ?? null,
    };
  }

  /** So many requests in flight, each of which has had its first word. */
  async load(model: string, requests: number): Promise<Load> {
    const ending = new AbortController();
    let problem: string | undefined;
    const streams = Array.from({ length: requests }, () => {
      let resolve: () => void = () => undefined;
      const first = new Promise<void>((resolved) => {
        resolve = resolved;
      });
      const isFirst = (): void => resolve();
      const over = this.#stream(model, ending.signal, isFirst).catch((error: unknown) => {
        if (!ending.signal.aborted) problem = `a stream of ${model}: ${(error as Error).message}`;
        isFirst();
      });
      return { first, over };
    });
    const load: Load = {
      check: () => {
        if (problem !== undefined) throw new CliError(problem);
      },
      stop: async () => {
        this.#loads.delete(load);
        ending.abort();
        await Promise.all(streams.map(({ over }) => over));
      },
    };
    this.#loads.add(load);
    const late = pause(FIRST_WORD_SECONDS_MAX * 1000, 'late', { ref: false });
    if ((await Promise.race([Promise.all(streams.map(({ first }) => first)), late])) === 'late') {
      throw new CliError(`${model} did not begin ${requests} streams within ${FIRST_WORD_SECONDS_MAX} s`);
    }
    load.check();
    return load;
  }

  /** Streams end, whatever went before. */
  async stopAll(): Promise<void> {
    await Promise.all([...this.#loads].map((load) => load.stop()));
  }

  async #stream(model: string, signal: AbortSignal, isFirst: () => void): Promise<void> {
    const response = await this.#post(model, { max_tokens: TOKENS, stream: true }, signal);
    if (response.status !== 200 || response.body === null) throw new Error(`HTTP ${response.status}`);
    for await (const _ of response.body) isFirst();
    throw new Error('it ended by itself');
  }

  #post(model: string, more: Readonly<Record<string, unknown>>, signal: AbortSignal | null = null): Promise<Response> {
    return fetch(this.#url, {
      method: 'POST',
      signal,
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], ...more }),
    });
  }
}
