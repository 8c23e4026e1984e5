import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KnownKey } from './gateway-keys.js';
import type { ModelEntry } from './model-entry.js';
import { errorHeaders, errorText, type OpenAiError, sendError } from './openai-error.js';
import { nextRequestId } from './request-ids.js';
import type { Tokens } from './token-usage.js';

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
const LEFT = 499;
const EMPTY = Buffer.alloc(0);
/** The rest of a body that was refused is read for so long, so that its client reads the answer. */
const REFUSED_BODY_MS = 2_000;

/** One request for a model, from its head to the end of its answer. */
export class Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  path: string;
  readonly startedMs = performance.now();
  known: KnownKey | null = null;
  entry: ModelEntry | null = null;
  body: Buffer = EMPTY;
  /** See `askUsage`. */
  isUsageOurs = false;
  /** Its body is not whole yet. */
  isReading = false;
  /** It was sent to an engine. */
  isForwarded = false;
  /** The engine failed it, or it was cut. */
  hasFailed = false;
  firstByteMs: number | null = null;
  tokens: Tokens | null = null;
  /** By when a held one is answered at the latest; null: it was not held yet. */
  heldUntilMs: number | null = null;
  status = 0;
  /** Called when the client leaves before its answer is whole. */
  onLeft: (() => void) | null = null;
  /** Called when the gateway ends before the answer is whole. */
  onCut: (() => void) | null = null;

  constructor(request: IncomingMessage, response: ServerResponse, path: string) {
    this.request = request;
    this.response = response;
    this.path = path;
    const given = request.headers['x-request-id'];
    this.requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : nextRequestId();
  }

  /** `over` is called once, when nothing more goes to the client. */
  begin(over: (call: Call) => void): void {
    this.response.once('close', () => {
      if (!this.response.writableFinished && !this.response.writableEnded) {
        this.status = LEFT;
        this.onLeft?.();
      }
      over(this);
    });
  }

  get isGone(): boolean {
    return this.response.destroyed || this.response.closed;
  }

  answer(value: object): void {
    const body = JSON.stringify(value);
    this.status = 200;
    const length = { 'content-length': String(Buffer.byteLength(body)) };
    const head = { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-request-id': this.requestId };
    this.response.writeHead(200, { ...head, ...length }).end(body);
  }

  refuse(error: OpenAiError): void {
    if (this.isGone) return;
    if (this.response.headersSent) return void this.response.destroy();
    this.status = error.status;
    sendError(this.response, error, this.requestId);
  }

  /** Answers at once, and takes no more requests on this connection. */
  refuseBody(error: OpenAiError): void {
    const { request, response } = this;
    const body = errorText(error, this.requestId);
    const length = { 'content-length': String(Buffer.byteLength(body)), connection: 'close' };
    this.status = error.status;
    response.writeHead(error.status, { ...errorHeaders(error, this.requestId), ...length });
    response.write(body);
    const timer = setTimeout(() => response.end(), REFUSED_BODY_MS);
    response.once('close', () => clearTimeout(timer));
    request.once('end', () => response.end());
    request.resume();
  }

  /** What the engine is sent: chosen names alone, so that no cookie, key or name of Berth's can come along. */
  headersFor(authorization: string | null): string[] {
    const { headers } = this.request;
    const sent = [
      ...['content-type', headers['content-type'] ?? 'application/json'],
      ...['accept', headers.accept ?? '*/*', 'x-request-id', this.requestId],
    ];
    if (authorization !== null) sent.push('authorization', authorization);
    for (const name of PASSED_ON) {
      const value = headers[name];
      if (typeof value === 'string') sent.push(name, value);
    }
    return sent;
  }
}

const PASSED_ON = ['traceparent', 'tracestate', 'user-agent'] as const;
