import type { Call } from './call.js';
import type { ModelEntry } from './model-entry.js';

export interface HoldsDeps {
  /** Processes that share the port: each has its share of a queue. */
  readonly workers: number;
  readonly counted: (by: 1 | -1) => void;
  /** Asks for the wake, as a request that is not held does. */
  readonly wake: (entry: ModelEntry) => void;
}

/** Bodies that wait, of all models of this process. */
const BYTES_MAX = 256 << 20;
/** A wake is called off after 5 minutes without a request: who waits asks again. */
const WAKE_EVERY_MS = 60_000;

interface Waiting {
  readonly timer: NodeJS.Timeout;
  readonly go: () => void;
}

/** Requests that wait for their model, where its claim wants that: within its wait, its queue, and this process's memory. */
export class Holds {
  readonly #deps: HoldsDeps;
  readonly #queues = new Map<ModelEntry, Map<Call, Waiting>>();
  readonly #timer: NodeJS.Timeout;
  #bytes = 0;

  constructor(deps: HoldsDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.#wakeAgain(), WAKE_EVERY_MS).unref();
  }

  /** False: it is to be answered now. `go` is called once, when the route has changed or the wait is over, unless its client left. */
  hold(call: Call, entry: ModelEntry, go: () => void): boolean {
    const { hold } = entry.route;
    if (hold === null) return false;
    const nowMs = performance.now();
    call.heldUntilMs ??= nowMs + hold.maxWaitSeconds * 1000;
    if (nowMs >= call.heldUntilMs || this.#bytes + call.body.length > BYTES_MAX) return false;
    const queue = this.#queues.get(entry) ?? new Map<Call, Waiting>();
    if (queue.size >= Math.ceil(hold.maxQueue / this.#deps.workers)) return false;
    this.#queues.set(entry, queue);
    const leave = () => this.#leave(entry, call);
    const timer = setTimeout(() => leave() && go(), call.heldUntilMs - nowMs);
    queue.set(call, { timer, go });
    this.#bytes += call.body.length;
    this.#deps.counted(1);
    call.onLeft = leave;
    return true;
  }

  /** Its route says something else now: each of its requests is looked at again. */
  changed(entry: ModelEntry): void {
    const queue = this.#queues.get(entry);
    if (queue === undefined) return;
    for (const [call, { go }] of [...queue]) if (this.#leave(entry, call)) go();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const entry of [...this.#queues.keys()]) this.changed(entry);
  }

  #leave(entry: ModelEntry, call: Call): boolean {
    const queue = this.#queues.get(entry);
    const waiting = queue?.get(call);
    if (queue === undefined || waiting === undefined) return false;
    clearTimeout(waiting.timer);
    queue.delete(call);
    if (queue.size === 0) this.#queues.delete(entry);
    this.#bytes -= call.body.length;
    this.#deps.counted(-1);
    call.onLeft = null;
    return true;
  }

  #wakeAgain(): void {
    for (const entry of this.#queues.keys()) this.#deps.wake(entry);
  }
}
