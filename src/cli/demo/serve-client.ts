import { setTimeout as pause } from 'node:timers/promises';
import { CliError } from '../cli-error.js';

/** What a client of the endpoint gets, as far as it goes by it. */
export interface EndpointAnswer {
  readonly status: number;
  readonly retryAfterSeconds: number | null;
  readonly says: string;
}

/** What a load saw; times are of this process's clock (`performance.now()`). */
export interface LoadFigures {
  readonly sent: number;
  readonly failed: readonly { readonly beganMs: number; readonly endedMs: number; readonly why: string }[];
  readonly slowestMs: number;
}

/** Within what the engine's context holds; they are stopped long before. */
const TOKENS_OF_A_BURST = 3500;
const PAUSE_MILLISECONDS = 50;

/** Asks one deployment's endpoint with its token. */
export class ServeClient {
  readonly #url: string;
  readonly #token: string;
  readonly #model: string;
  readonly #ending = new Set<() => Promise<unknown>>();

  constructor(url: string, { token, model }: { readonly token: string; readonly model: string }) {
    this.#url = url;
    this.#token = token;
    this.#model = model;
  }

  async ask(): Promise<EndpointAnswer> {
    const response = await this.#post({ max_tokens: 1 });
    const text = await response.text();
    const retryAfter = response.headers.get('retry-after');
    const retryAfterSeconds = retryAfter === null ? null : Number(retryAfter);
    return { status: response.status, retryAfterSeconds, says: response.status === 200 ? '' : detailOf(text) };
  }

  /** So many clients that ask one after the other without a retry, until `stop`. */
  load(clients: number): { readonly figures: () => LoadFigures; readonly stop: () => Promise<LoadFigures> } {
    const failed: { beganMs: number; endedMs: number; why: string }[] = [];
    let sent = 0;
    let slowestMs = 0;
    let isOver = false;
    const one = async (): Promise<void> => {
      while (!isOver) {
        const beganMs = performance.now();
        sent += 1;
        const why = await this.ask().then(
          ({ status, says }) => (status === 200 ? undefined : `HTTP ${status} ${says}`),
          (error: unknown) => String(error),
        );
        const endedMs = performance.now();
        slowestMs = Math.max(slowestMs, endedMs - beganMs);
        if (why !== undefined) failed.push({ beganMs, endedMs, why });
        await pause(PAUSE_MILLISECONDS);
      }
    };
    const all = Array.from({ length: clients }, one);
    const figures = (): LoadFigures => ({ sent, failed: [...failed], slowestMs: Math.round(slowestMs) });
    const stop = async (): Promise<LoadFigures> => {
      isOver = true;
      this.#ending.delete(stop);
      await Promise.all(all);
      return figures();
    };
    this.#ending.add(stop);
    return { figures, stop };
  }

  /** So many answers that stream until they are stopped; `stop` throws when one was refused or ended before. */
  burst(requests: number): { readonly stop: () => Promise<void> } {
    let problem: string | undefined;
    const aborting = new AbortController();
    const streams = Array.from({ length: requests }, async () => {
      const response = await this.#post({ max_tokens: TOKENS_OF_A_BURST, stream: true }, aborting.signal);
      if (response.status !== 200) {
        problem ??= `HTTP ${response.status} ${detailOf(await response.text())}`;
        return;
      }
      for await (const _ of response.body ?? []) aborting.signal.throwIfAborted();
      problem ??= 'it ended by itself';
    });
    const ended = Promise.allSettled(streams);
    const stop = async (): Promise<void> => {
      this.#ending.delete(stop);
      aborting.abort();
      await ended;
      if (problem !== undefined) throw new CliError(`expected: streams that go on; seen: ${problem}`);
    };
    this.#ending.add(stop);
    return { stop };
  }

  /** All that still asks ends. Safe at any point. */
  async stopAll(): Promise<void> {
    await Promise.allSettled([...this.#ending].map((stop) => stop()));
  }

  #post(more: Readonly<Record<string, unknown>>, signal: AbortSignal | null = null): Promise<Response> {
    return fetch(`${this.#url}/v1/chat/completions`, {
      method: 'POST',
      signal,
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: this.#model, messages: [{ role: 'user', content: 'hello' }], ...more }),
    });
  }
}

function detailOf(text: string): string {
  try {
    const { detail, error } = JSON.parse(text) as { detail?: string; error?: { message?: string } };
    return detail ?? error?.message ?? text;
  } catch {
    return text.slice(0, 200);
  }
}

/** Throws unless no request of the load failed; says how many there were. */
export function noneFailed({ sent, failed, slowestMs }: LoadFigures, say: (text: string) => void): void {
  say(`  a load of ${sent} requests: ${failed.length} failed, the slowest took ${slowestMs} ms`);
  if (failed.length > 0) throw new CliError(`expected: 0 failed requests; seen: ${failed.length}, ${failed[0]?.why}`);
}
