import type { Dispatcher } from 'undici';
import type { Call } from './call.js';
import { EventStream } from './event-stream.js';
import { DIED, DIED_STREAMING, REFUSED_US, SAID_NOTHING } from './model-answers.js';
import { errorEvent, type OpenAiError } from './openai-error.js';
import type { Target } from './target.js';
import { PassingUsage, tokensIn } from './token-usage.js';

/** An answer up to so long is held until it is whole, so that an engine that dies in it is a 502 with a body. */
const WHOLE_MAX = 1 << 20;
const STRING_MAX = 16_384;
const NOT_PASSED = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-connection', 'te', 'trailer', 'transfer-encoding'],
  ...['upgrade', 'content-length', 'set-cookie', 'server', 'date', 'x-request-id'],
]);

export interface ForwardingEnds {
  /** Nothing was sent: it may go to another engine. */
  notSent(call: Call, error: Error): void;
}

type Mode = 'waiting' | 'whole' | 'passing' | 'events';

/**
 * One try of a request at one engine: the answer goes on as it comes, no faster than the client reads. undici's own calls,
 * without the wrapper that its newer ones go through: that builds an object of headers for each answer.
 */
export class Forwarding implements Dispatcher.DispatchHandler {
  readonly #call: Call;
  readonly #target: Target;
  readonly #ends: ForwardingEnds;
  #abort: ((error?: Error) => void) | null = null;
  #resume: (() => void) | null = null;
  #mode: Mode = 'waiting';
  #status = 0;
  #headers: string[] = [];
  #parts: Buffer[] = [];
  #bytes = 0;
  #events: EventStream | null = null;
  #usage: PassingUsage | null = null;

  constructor(call: Call, target: Target, ends: ForwardingEnds) {
    this.#call = call;
    this.#target = target;
    this.#ends = ends;
    target.begin();
    call.onLeft = () => this.#left();
    call.onCut = () => this.#cut();
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    if (this.#call.isGone) abort(new Error('the client left'));
    else {
      this.#call.isForwarded = true;
      this.#target.connected();
    }
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void): boolean {
    if (status < 200) return true;
    const call = this.#call;
    call.firstByteMs = performance.now();
    call.hasFailed = status >= 500;
    this.#status = status;
    this.#resume = resume;
    const { passed, isEvents, length } = readHeaders(headers);
    this.#headers = passed;
    if (isEvents) {
      this.#mode = 'events';
      this.#events = new EventStream(call.isUsageOurs);
      this.#writeHead();
      call.response.flushHeaders();
    } else if (Number(length) > WHOLE_MAX) this.#pass(length);
    else this.#mode = 'whole';
    return true;
  }

  /** False: the engine is held back until `resume` is called. */
  onData(part: Buffer): boolean {
    if (this.#mode === 'whole') {
      this.#parts.push(part);
      this.#bytes += part.length;
      if (this.#bytes > WHOLE_MAX) this.#pass(null);
      return true;
    }
    this.#usage?.pass(part);
    const out = this.#events === null ? part : this.#events.push(part);
    if (out === null || this.#call.response.write(out)) return true;
    this.#call.response.once('drain', () => this.#resume?.());
    return false;
  }

  onComplete(): void {
    this.#release();
    const { response } = this.#call;
    if (this.#mode === 'whole') return this.#endWhole();
    this.#readTokens();
    const left = this.#events?.end() ?? null;
    if (left === null) response.end();
    else response.end(left);
  }

  onError(error: Error): void {
    const wasSent = this.#abort !== null;
    const call = this.#call;
    if (wasSent && !call.isGone) call.hasFailed = true;
    this.#release();
    this.#readTokens();
    if (call.isGone) return;
    if (!wasSent) return this.#ends.notSent(call, error);
    this.#breakOff(DIED_STREAMING);
  }

  /** From then on nothing of this try counts for the target. */
  #release(): void {
    this.#target.end(this.#call.hasFailed);
    this.#call.onLeft = null;
    this.#call.onCut = null;
    this.#abort = null;
    this.#resume = null;
  }

  #left(): void {
    this.#abort?.(new Error('the client left'));
  }

  #cut(): void {
    const error = new Error('the gateway ends');
    if (this.#abort === null) this.#target.destroy();
    else this.#abort(error);
  }

  #breakOff(streaming: OpenAiError): void {
    const { response, requestId } = this.#call;
    if (this.#mode === 'events') response.end(errorEvent(streaming, requestId));
    else this.#call.refuse(DIED);
  }

  #readTokens(): void {
    this.#call.tokens = this.#events?.tokens ?? this.#usage?.tokens ?? null;
  }

  #endWhole(): void {
    const call = this.#call;
    if (this.#status === 401 || this.#status === 403) {
      call.hasFailed = true;
      return call.refuse(REFUSED_US);
    }
    const [first] = this.#parts;
    const body = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
    if (body.length === 0 && this.#status >= 500) return call.refuse(SAID_NOTHING);
    call.tokens = tokensIn(body);
    this.#headers.push('content-length', String(body.length));
    this.#writeHead();
    // Head and body as one string are one write; Latin-1 keeps each byte.
    if (body.length <= STRING_MAX) call.response.end(body.toString('latin1'), 'latin1');
    else call.response.end(body);
  }

  #pass(length: string | null): void {
    this.#mode = 'passing';
    this.#usage = new PassingUsage();
    if (length !== null) this.#headers.push('content-length', length);
    this.#writeHead();
    for (const part of this.#parts) {
      this.#usage.pass(part);
      this.#call.response.write(part);
    }
    this.#parts = [];
  }

  #writeHead(): void {
    const { response, requestId, known } = this.#call;
    this.#headers.push('x-request-id', requestId);
    for (const text of known?.limits.headers(performance.now()) ?? []) this.#headers.push(text);
    this.#call.status = this.#status;
    response.writeHead(this.#status, this.#headers);
  }
}

interface ReadHeaders {
  /** Flat: name, value, name, value. */
  readonly passed: string[];
  readonly isEvents: boolean;
  readonly length: string | null;
}

/** As they came, name and value in turn. */
function readHeaders(headers: readonly Buffer[]): ReadHeaders {
  const passed: string[] = [];
  let isEvents = false;
  let length: string | null = null;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = String(headers[at]).toLowerCase();
    if (name === 'content-length') length = String(headers[at + 1]);
    if (NOT_PASSED.has(name)) continue;
    const value = headers[at + 1]?.toString('latin1') ?? '';
    if (name === 'content-type') isEvents = value.startsWith('text/event-stream');
    passed.push(name, value);
  }
  return { passed, isEvents, length };
}
