import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../../platform/log.js';
import type { Upgrade } from '../forward.js';
import type { GatewayKeys } from '../models/gateway-keys.js';
import { type Admission, admit } from './admission.js';
import { askedInVain, whyNotServing } from './asked.js';
import type { DeploymentEntry } from './deployment-entry.js';
import type { DeploymentMetrics } from './deployment-metrics.js';
import { BROKE, ENDS, NO_DEPLOYMENT, notServing } from './deployment-problem.js';
import type { DeploymentTable } from './deployment-table.js';
import { EndpointCall } from './endpoint-call.js';
import { EndpointForwarding } from './endpoint-forwarding.js';
import { deploymentPath } from './paths.js';
import { recordEndpointCall } from './record-endpoint-call.js';
import type { ReplicaTarget } from './replica-target.js';
import { UpgradeCall } from './upgrade-call.js';

export interface DeploymentDeskDeps {
  readonly table: DeploymentTable;
  readonly keys: Pick<GatewayKeys, 'of'>;
  readonly metrics: DeploymentMetrics;
  /** Sends the traffic report at once. */
  readonly tell: () => void;
  readonly log: Logger;
  readonly accessLog: Pick<Logger, 'info'>;
  readonly scheme: string;
  readonly drainMs: number;
}

const DRAIN_LOOK_MS = 50;

type Asking = EndpointCall | UpgradeCall;

/** Each request's way under `/deployments/`: who asks, the replica that it goes to, or what is answered at once. */
export class DeploymentDesk {
  readonly #deps: DeploymentDeskDeps;
  readonly #underWay = new Set<Asking>();
  #isClosing = false;

  constructor(deps: DeploymentDeskDeps) {
    this.#deps = deps;
  }

  web(request: IncomingMessage, response: ServerResponse): void {
    const call = new EndpointCall(request, response, request.url ?? '/');
    this.#underWay.add(call);
    call.begin(() => this.#over(call));
    this.#guarded(call, () => this.#receive(call, (entry) => this.#forward(call, entry)));
  }

  upgrade(upgrade: Upgrade): void {
    const call = new UpgradeCall(upgrade);
    this.#underWay.add(call);
    call.begin(() => this.#over(call));
    this.#guarded(call, () => this.#receive(call, (entry) => this.#join(call, entry)));
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const untilMs = performance.now() + this.#deps.drainMs;
    while (this.#underWay.size > 0 && performance.now() < untilMs) {
      await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
    }
    for (const call of this.#underWay) call.onCut?.();
  }

  #over(call: Asking): void {
    this.#underWay.delete(call);
    recordEndpointCall(call, this.#deps);
  }

  /** Nothing that goes wrong here leaves a request without an answer. */
  #guarded(call: Asking, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#deps.log.error({ err: error, requestId: call.requestId }, 'a request for a deployment failed');
      call.hasFailed = true;
      call.problem(BROKE);
    }
  }

  #receive(call: Asking, go: (entry: DeploymentEntry) => void): void {
    if (this.#isClosing) return call.problem(ENDS);
    const path = deploymentPath(call.request.url ?? '/');
    if (path === null) return call.problem(NO_DEPLOYMENT);
    Object.assign(call, { name: path.name, rest: path.path });
    const admission = admit(this.#deps, path.name, call.request.headers.authorization);
    if (!(admission instanceof Promise)) return this.#admitted(call, admission, go);
    void admission.then((late) => this.#guarded(call, () => this.#admitted(call, late, go)));
  }

  #admitted(call: Asking, admission: Admission, go: (entry: DeploymentEntry) => void): void {
    if (call.isGone) return;
    if (admission.problem !== null) return call.problem(admission.problem);
    const { entry, known } = admission;
    call.entry = entry;
    call.known = known;
    const nowMs = performance.now();
    const refusal = known?.limits.refuse(nowMs) ?? null;
    if (refusal !== null) {
      const { what, perMinute, retryAfterSeconds } = refusal;
      return call.problem({
        ...{ code: 'rate_limited', detail: `This key may use ${perMinute} ${what} a minute.`, retryAfterSeconds },
      });
    }
    known?.limits.forwarded(nowMs);
    go(entry);
  }

  /** The replica that it goes to; null: it was answered that none serves. */
  #target(call: Asking, entry: DeploymentEntry): ReplicaTarget | null {
    if (call.isGone) return null;
    const target = entry.pick(performance.now());
    if (target === null) {
      entry.missed();
      askedInVain(entry, this.#deps.tell);
      call.problem(notServing(entry.deployment.name, whyNotServing(entry)));
      return null;
    }
    call.revision = target.revision;
    return target;
  }

  #refused(target: ReplicaTarget, entry: DeploymentEntry, error: Error): void {
    target.refused(performance.now());
    const { sessionId } = target;
    this.#deps.log.warn({ err: error, deployment: entry.deployment.name, sessionId }, 'a replica takes no connection');
  }

  /** Also for one whose replica took no connection: nothing of its body was read then. */
  #forward(call: EndpointCall, entry: DeploymentEntry): void {
    const target = this.#target(call, entry);
    if (target === null) return;
    const forwarding = new EndpointForwarding(call, target, {
      notSent: (error) => {
        this.#refused(target, entry, error);
        this.#guarded(call, () => this.#forward(call, entry));
      },
      refused: ({ message }) =>
        call.problem({ code: 'invalid_request', detail: `It cannot be passed on: ${message}.` }),
    });
    const headers = call.headersTo(target, this.#deps.scheme);
    const method = (call.request.method ?? 'GET') as 'GET';
    // undici takes any async iterable; its types name only some
    const body = call.bodyParts() as never;
    target.pool.dispatch({ path: call.rest, method, headers, body }, forwarding);
  }

  #join(call: UpgradeCall, entry: DeploymentEntry): void {
    const target = this.#target(call, entry);
    if (target === null) return;
    call.open(target, {
      scheme: this.#deps.scheme,
      notSent: (error) => {
        this.#refused(target, entry, error);
        this.#guarded(call, () => this.#join(call, entry));
      },
    });
  }
}
