import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../../platform/log.js';
import { askUsage } from './ask-usage.js';
import { Call } from './call.js';
import { Forwarding } from './forwarding.js';
import type { GatewayKeys, KeyAnswer } from './gateway-keys.js';
import { Holds } from './holds.js';
import { listed } from './list-models.js';
import {
  answerOf,
  BROKEN,
  CLOSING,
  ENCODED,
  KEYS_AWAY,
  NO_KEY,
  NO_MODEL_NAMED,
  NO_PATH,
  NOT_JSON,
  noModel,
  ONLY_READS,
  rateLimited,
  SLOW_BODY,
  tooLarge,
  unavailable,
  wrongMethod,
} from './model-answers.js';
import type { ModelEntry } from './model-entry.js';
import type { ModelMetrics } from './model-metrics.js';
import { GONE } from './model-table.js';
import { type ModelPath, modelPath } from './paths.js';
import { type BodyLimits, readBody } from './read-body.js';
import { recordCall } from './record-call.js';
import { scanRequest } from './scan-request.js';
import type { UsageBook } from './usage-book.js';
import type { Wakes } from './wakes.js';

export interface ModelDeskDeps {
  readonly table: { get(modelName: string): ModelEntry | undefined; entries(): Iterable<ModelEntry> };
  readonly keys: Pick<GatewayKeys, 'of'>;
  readonly wakes: Pick<Wakes, 'ask'>;
  readonly usage: UsageBook;
  readonly metrics: ModelMetrics;
  readonly log: Logger;
  readonly accessLog: Pick<Logger, 'info'>;
  readonly options: BodyLimits & { readonly workers: number; readonly drainMs: number };
}

type Asked = Extract<ModelPath, { kind: 'ask' }>;
const DRAIN_LOOK_MS = 50;

/** Each request's way: its key, its model, what is answered at once, or the engine that it goes to. */
export class ModelDesk {
  readonly #deps: ModelDeskDeps;
  readonly #holds: Holds;
  readonly #underWay = new Set<Call>();
  readonly #timer: NodeJS.Timeout;
  #isClosing = false;

  constructor(deps: ModelDeskDeps) {
    this.#deps = deps;
    const { workers } = deps.options;
    this.#holds = new Holds({
      workers,
      counted: (by) => deps.metrics.held(by),
      wake: (entry) => deps.wakes.ask(entry),
    });
    this.#timer = setInterval(() => this.#refuseLate(), deps.options.bodyMs / 2).unref();
  }

  web(request: IncomingMessage, response: ServerResponse): void {
    const call = new Call(request, response, request.url ?? '/');
    this.#underWay.add(call);
    call.begin(this.#over);
    this.#guarded(call, () => this.#receive(call));
  }

  /** Requests that an engine has. */
  get inFlight(): number {
    let count = 0;
    for (const call of this.#underWay) if (call.onCut !== null) count += 1;
    return count;
  }

  /** A route was read anew. */
  changed(entry: ModelEntry): void {
    if (answerOf(entry, false).kind !== 'later') this.#holds.changed(entry);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    this.#holds.close();
    const untilMs = performance.now() + this.#deps.options.drainMs;
    while (this.#underWay.size > 0 && performance.now() < untilMs) {
      await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
    }
    if (this.#underWay.size === 0) return;
    for (const call of this.#underWay) call.onCut?.();
    await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS)); // their last events go out
  }

  readonly #over = (call: Call): void => {
    this.#underWay.delete(call);
    recordCall(call, this.#deps);
  };

  #refuseLate(): void {
    const lateMs = performance.now() - this.#deps.options.bodyMs;
    for (const call of this.#underWay) {
      if (!call.isReading || call.startedMs > lateMs) continue;
      call.isReading = false;
      call.refuseBody(SLOW_BODY);
    }
  }

  /** Nothing that goes wrong here leaves a request without an answer. */
  #guarded(call: Call, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#deps.log.error({ err: error, requestId: call.requestId }, 'a request for a model failed');
      call.hasFailed = true;
      call.refuse(BROKEN);
    }
  }

  #receive(call: Call): void {
    if (this.#isClosing) return call.refuse(CLOSING);
    const answer = this.#deps.keys.of(call.request.headers.authorization);
    if (!(answer instanceof Promise)) return this.#known(call, answer);
    void answer.then((late) => this.#guarded(call, () => this.#known(call, late)));
  }

  #known(call: Call, known: KeyAnswer): void {
    if (call.isGone) return;
    if (known === 'unknown') return call.refuse(NO_KEY);
    if (known === 'away') return call.refuse(KEYS_AWAY);
    call.known = known;
    const path = modelPath(call.path);
    if (path.kind === 'none') return call.refuse(NO_PATH);
    const method = path.kind === 'ask' ? 'POST' : 'GET';
    if (call.request.method !== method) return call.refuse(wrongMethod(method));
    if (path.kind === 'ask' && known.key.scope === 'read') return call.refuse(ONLY_READS);
    if (path.kind === 'list') return this.#list(call);
    if (path.kind === 'get') return this.#get(call, path.modelName);
    this.#read(call, path);
  }

  #list(call: Call): void {
    const data = [...this.#deps.table.entries()].filter(({ route }) => call.known?.mayUse(route)).map(listed);
    call.answer({ object: 'list', data });
  }

  #get(call: Call, modelName: string): void {
    const entry = this.#entryFor(call, modelName);
    if (entry === undefined) return call.refuse(noModel(modelName));
    call.answer(listed(entry));
  }

  #entryFor({ known }: Call, modelName: string): ModelEntry | undefined {
    const entry = this.#deps.table.get(modelName);
    return entry !== undefined && known?.mayUse(entry.route) === true ? entry : undefined;
  }

  #read(call: Call, path: Asked): void {
    const { options } = this.#deps;
    const encoding = call.request.headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity') return call.refuse(ENCODED);
    call.isReading = true;
    readBody(call.request, options.bodyMaxBytes, (body) => {
      if (call.isGone || !call.isReading) return;
      call.isReading = false;
      if (body === 'too-large') return call.refuseBody(tooLarge(options.bodyMaxBytes));
      this.#guarded(call, () => this.#route(call, { body, path }));
    });
  }

  #route(call: Call, { body, path }: { readonly body: Buffer; readonly path: Asked }): void {
    const scanned = scanRequest(body);
    if (scanned === null) return call.refuse(NOT_JSON);
    if (scanned.model === null) return call.refuse(NO_MODEL_NAMED);
    const entry = this.#entryFor(call, scanned.model);
    if (entry === undefined) return call.refuse(noModel(scanned.model));
    call.entry = entry;
    call.path = path.path;
    const sent = path.hasUsageOption ? askUsage(body, scanned) : { body, isUsageOurs: false };
    call.body = sent.body;
    call.isUsageOurs = sent.isUsageOurs;
    this.#proceed(call, entry);
  }

  /** Also for one that was held, and for one whose engine took no connection. */
  #proceed(call: Call, entry: ModelEntry): void {
    if (call.isGone) return;
    const nowMs = performance.now();
    const refusal = call.known?.limits.refuse(nowMs) ?? null;
    if (refusal !== null) return call.refuse(rateLimited(refusal, call.known?.limits.headers(nowMs) ?? []));
    const target = entry.isServing ? entry.pick(nowMs) : null;
    if (target === null) return this.#answerLater(call, entry);
    call.known?.limits.forwarded(nowMs);
    const headers = call.headersFor(target.authorization);
    const forwarding = new Forwarding(call, target, {
      notSent: (one, error) => {
        target.refused(performance.now());
        this.#deps.log.warn({ err: error, model: entry.route.modelName }, 'an engine takes no connection');
        this.#guarded(one, () => this.#proceed(one, entry));
      },
    });
    target.pool.dispatch({ path: call.path, method: 'POST', headers, body: call.body }, forwarding);
  }

  #answerLater(call: Call, entry: ModelEntry): void {
    const { route } = entry;
    if (route.serving === GONE) return call.refuse(noModel(route.modelName));
    entry.missed();
    const answer = answerOf(entry, entry.isServing);
    if (answer.kind === 'forward') return call.refuse(BROKEN);
    if (answer.kind === 'later') {
      if (answer.asksWake) this.#deps.wakes.ask(entry);
      if (
        !this.#isClosing &&
        this.#holds.hold(call, entry, () => this.#guarded(call, () => this.#proceed(call, entry)))
      )
        return;
    }
    call.refuse(unavailable(route, answer));
  }
}
