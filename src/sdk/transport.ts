import { randomUUID } from 'node:crypto';
import { type OperationId, ROUTES, type Route } from '../contract/index.js';
import { errorOf } from './answer.js';
import type { AnswerOf, AnyInput, CallInput, CallOptions, StreamOperation } from './operations.js';
import { ConnectionError, type ProblemError } from './problem-error.js';
import {
  DEFAULT_RETRIES,
  type Retries,
  retryAfterMilliseconds,
  retryDelayMilliseconds,
  shouldRetry,
} from './retry-policy.js';
import { routeUrl } from './route-url.js';

export interface TransportOptions {
  /** Of the API, as http://127.0.0.1:7600. */
  readonly baseUrl: string;
  /** An API key. */
  readonly token: string;
  /** The global fetch when omitted. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** An operator acts for this user; the audit log names both. */
  readonly onBehalfOf?: string | undefined;
  readonly retries?: Partial<Retries> | undefined;
  /** For the answer of one try; a stream's headers. 90 s when omitted. */
  readonly timeoutSeconds?: number | undefined;
}

/** One request, ready to be sent as often as it takes. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly isRepeatable: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Sends calls of the route table, and tries again where that is safe and can help. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #retries: Retries;
  readonly #base: string;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#retries = { ...DEFAULT_RETRIES, ...options.retries };
    this.#base = options.baseUrl.replace(/\/+$/, '');
  }

  get fetch(): typeof globalThis.fetch {
    return this.#options.fetch ?? globalThis.fetch;
  }

  /** Throws a `ProblemError` by code, or `ConnectionError` when no answer came after all tries. */
  async call<Op extends OperationId>(
    operation: Op,
    input: CallInput<Op>,
    options: CallOptions = {},
  ): Promise<AnswerOf<Op>> {
    const response = await this.send(this.#request(ROUTES[operation], input, options));
    if (response.status === 204) return undefined as AnswerOf<Op>;
    return (await response.json()) as AnswerOf<Op>;
  }

  /** The answer as text, of an operation that has more formats than JSON. */
  async text<Op extends OperationId>(operation: Op, input: CallInput<Op>, options: CallOptions = {}): Promise<string> {
    return (await this.send(this.#request(ROUTES[operation], input, options))).text();
  }

  /** The open answer of a streaming operation. `headers` are added, such as Last-Event-ID. */
  async stream<Op extends StreamOperation>(
    operation: Op,
    input: CallInput<Op>,
    options: CallOptions & { readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Response> {
    const request = this.#request(ROUTES[operation], input, options);
    return this.send({ ...request, headers: { ...request.headers, ...options.headers } });
  }

  #request(route: Route, input: AnyInput, options: CallOptions): HttpRequest {
    const isPost = route.method === 'POST';
    const headers: Record<string, string> = {
      accept: 'application/json, text/event-stream, application/x-ndjson, application/problem+json',
      authorization: `Bearer ${this.#options.token}`,
    };
    if (this.#options.onBehalfOf !== undefined) headers['berth-on-behalf-of'] = this.#options.onBehalfOf;
    if (isPost) headers['idempotency-key'] = options.idempotencyKey ?? randomUUID();
    if (options.ifMatch !== undefined) headers['if-match'] = options.ifMatch;
    if (input.body !== undefined) headers['content-type'] = 'application/json';
    return {
      method: route.method,
      url: this.#base + routeUrl(route.path, input.params, input.query),
      headers,
      body: input.body === undefined ? undefined : JSON.stringify(input.body),
      isRepeatable: !isPost || route.idempotent === true,
      signal: options.signal,
    };
  }

  /** Sends until an answer stands. An abort is thrown as the signal's reason, at once. */
  async send(request: HttpRequest): Promise<Response> {
    let wasLostBefore = false;
    for (let attempt = 1; ; attempt += 1) {
      request.signal?.throwIfAborted();
      const outcome = await this.#try(request);
      const response = outcome instanceof ConnectionError ? undefined : outcome;
      if (response?.ok === true) return response;
      const failed = {
        attempt,
        status: response?.status,
        headers: response?.headers,
        isRepeatable: request.isRepeatable,
        wasNeverSent: response === undefined && wasRefused(outcome),
        wasLostBefore,
      };
      if (attempt >= this.#retries.triesMax || !shouldRetry(failed)) throw await failure(outcome);
      await response?.body?.cancel();
      wasLostBefore ||= response === undefined;
      await this.pause(attempt, request.signal, failed.headers);
    }
  }

  /** One try of a request whose body cannot be read twice. */
  async sendOnce(url: string, init: RequestInit & { readonly duplex?: 'half' }): Promise<Response> {
    let response: Response;
    try {
      response = await this.fetch(url, init);
    } catch (error) {
      init.signal?.throwIfAborted();
      throw new ConnectionError(new URL(url).origin, error);
    }
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  async #try(request: HttpRequest): Promise<Response | ConnectionError> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(new Error('it took too long')), this.#timeoutMilliseconds);
    const signals = request.signal === undefined ? [timeout.signal] : [timeout.signal, request.signal];
    try {
      return await this.fetch(request.url, {
        method: request.method,
        headers: request.headers,
        ...(request.body === undefined ? {} : { body: request.body }),
        signal: AbortSignal.any(signals),
      });
    } catch (error) {
      request.signal?.throwIfAborted();
      return new ConnectionError(new URL(request.url).origin, error);
    } finally {
      clearTimeout(timer);
    }
  }

  get #timeoutMilliseconds(): number {
    return (this.#options.timeoutSeconds ?? 90) * 1000;
  }

  get triesMax(): number {
    return this.#retries.triesMax;
  }

  /** Between two tries; `attempt` is the number of the one that failed. */
  pause(attempt: number, signal: AbortSignal | undefined, headers?: Headers): Promise<void> {
    const retryAfter = retryAfterMilliseconds(headers, Date.now());
    return sleep(
      retryDelayMilliseconds(attempt, this.#retries, { random: Math.random(), retryAfterMilliseconds: retryAfter }),
      signal,
    );
  }
}

async function failure(outcome: Response | ConnectionError): Promise<ConnectionError | ProblemError> {
  return outcome instanceof ConnectionError ? outcome : errorOf(outcome);
}

function wasRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && (error.code === 'ECONNREFUSED' || error.code === 'ENOTFOUND')) return true;
  return error.cause !== undefined && wasRefused(error.cause);
}

/** Ends early, with the signal's reason, when it is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
