import { type Dispatcher, errors } from 'undici';
import { REPLICA_DIED } from './deployment-problem.js';
import type { EndpointCall } from './endpoint-call.js';
import { headersToClient } from './replica-headers.js';
import type { ReplicaTarget } from './replica-target.js';

export interface EndpointEnds {
  /** Nothing was sent, and nothing of the body read: it may go to another replica. */
  notSent(error: Error): void;
  /** No replica can be asked this. */
  refused(error: Error): void;
}

/** One try of a request at one replica: the answer goes on as it comes, no faster than the client reads. */
export class EndpointForwarding implements Dispatcher.DispatchHandler {
  readonly #call: EndpointCall;
  readonly #target: ReplicaTarget;
  readonly #ends: EndpointEnds;
  #abort: ((error?: Error) => void) | null = null;
  #resume: (() => void) | null = null;
  #isSent = false;

  constructor(call: EndpointCall, target: ReplicaTarget, ends: EndpointEnds) {
    this.#call = call;
    this.#target = target;
    this.#ends = ends;
    target.begin();
    call.onLeft = () => this.#abort?.(new Error('the client left'));
    call.onCut = () => this.#cut();
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    if (this.#call.isGone) return abort(new Error('the client left'));
    this.#isSent = true;
    this.#call.isForwarded = true;
    this.#target.connected();
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void): boolean {
    if (status < 200) return true;
    const call = this.#call;
    call.firstByteMs = performance.now();
    call.hasFailed = status >= 500;
    call.status = status;
    this.#resume = resume;
    const passed = headersToClient(headers, call.requestId);
    call.response.writeHead(status, passed);
    if (!passed.includes('content-length')) call.response.flushHeaders(); // what streams may be long in coming
    return true;
  }

  /** False: the replica is held back until `resume` is called. */
  onData(part: Buffer): boolean {
    if (this.#call.response.write(part)) return true;
    this.#call.response.once('drain', () => this.#resume?.());
    return false;
  }

  onComplete(): void {
    this.#release();
    this.#call.response.end();
  }

  onError(error: Error): void {
    const call = this.#call;
    const isSent = this.#isSent;
    if (isSent && !call.isGone) call.hasFailed = true;
    this.#release();
    if (call.isGone) return;
    if (isNotForUs(error)) return this.#ends.refused(error);
    if (!isSent) return this.#ends.notSent(error);
    call.problem(REPLICA_DIED);
  }

  #cut(): void {
    if (this.#abort === null) this.#target.destroy();
    else this.#abort(new Error('the gateway ends'));
  }

  /** From then on nothing of this try counts for the target. */
  #release(): void {
    this.#target.end(this.#call.hasFailed);
    Object.assign(this.#call, { onLeft: null, onCut: null });
    this.#abort = null;
    this.#resume = null;
  }
}

/** Such a request is not sent to anybody: its path, method or a header is none. */
const isNotForUs = (error: Error): boolean =>
  error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError;
