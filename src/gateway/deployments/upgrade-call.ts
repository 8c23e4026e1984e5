import { type ClientRequest, request as httpRequest, type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { joinSockets, refuseUpgrade } from '../../platform/join-sockets.js';
import type { Upgrade } from '../forward.js';
import type { KnownKey } from '../models/gateway-keys.js';
import { nextRequestId } from '../models/request-ids.js';
import type { DeploymentEntry } from './deployment-entry.js';
import { type EndpointProblem, REPLICA_DIED, renderProblem } from './deployment-problem.js';
import { headersToClient, headersToReplica } from './replica-headers.js';
import type { ReplicaTarget } from './replica-target.js';

const CONNECT_MS = 3_000;
const KEEP_ALIVE_MS = 30_000;
const LEFT = 499;

export interface UpgradeEnds {
  readonly scheme: string;
  /** The replica takes no connection: it may go to another one. */
  readonly notSent: (error: Error) => void;
}

/** One change of protocol (a WebSocket): from its head until one side closes. */
export class UpgradeCall {
  readonly request: IncomingMessage;
  readonly requestId = nextRequestId();
  readonly startedMs = performance.now();
  name = '';
  rest = '/';
  entry: DeploymentEntry | null = null;
  known: KnownKey | null = null;
  revision: number | null = null;
  firstByteMs: number | null = null;
  status = 0;
  hasFailed = false;
  onCut: (() => void) | null = null;
  readonly #socket: Socket;
  readonly #head: Buffer;

  constructor({ request, socket, head }: Upgrade) {
    this.request = request;
    this.#socket = socket;
    this.#head = head;
    this.onCut = () => socket.destroy();
  }

  /** `over` is called once, when the client's connection is closed. */
  begin(over: () => void): void {
    const end = () => {
      if (this.status === 0) this.status = LEFT;
      over();
    };
    if (this.#socket.destroyed) end();
    else this.#socket.once('close', end);
  }

  get isGone(): boolean {
    return this.#socket.destroyed;
  }

  problem(problem: EndpointProblem): void {
    const { status, headers, body } = renderProblem(problem, this.requestId);
    this.status = status;
    refuseUpgrade(this.#socket, { status, headers, body });
  }

  /** Asks the replica; whatever it answers goes to the client. */
  open(target: ReplicaTarget, { scheme, notSent }: UpgradeEnds): void {
    target.begin();
    let isOpen = true;
    const end = (): void => {
      if (isOpen) target.end(this.hasFailed);
      isOpen = false;
    };
    const asked = this.#ask(target, scheme);
    const left = () => void asked.destroy();
    this.#socket.once('close', left);
    let isSent = false;
    const timer = setTimeout(() => asked.destroy(new Error('no connection in time')), CONNECT_MS);
    asked.once('close', () => clearTimeout(timer));
    asked.on('socket', (socket) =>
      socket.once('connect', () => {
        clearTimeout(timer);
        isSent = true;
        target.connected();
      }),
    );
    asked.on('error', (error) => {
      this.#socket.off('close', left);
      this.hasFailed = isSent && !this.isGone;
      end();
      if (this.isGone) return;
      if (isSent) this.problem(REPLICA_DIED);
      else notSent(error);
    });
    asked.on('response', (answer) => this.#refuse(answer, end));
    asked.on('upgrade', (answer, socket: Socket, head) => {
      this.#socket.off('close', left);
      socket.once('close', end);
      this.#join(answer, socket, head);
    });
    asked.end();
  }

  #ask(target: ReplicaTarget, scheme: string): ClientRequest {
    const { authorization, place } = target;
    const { requestId, name } = this;
    const headers = headersToReplica(this.request, { authorization, requestId, name, scheme });
    headers.push('host', new URL(target.origin).host);
    headers.push('connection', 'Upgrade', 'upgrade', String(this.request.headers.upgrade));
    return httpRequest({
      ...{ host: place.host, port: place.port, path: this.rest, method: this.request.method ?? 'GET' },
      ...{ headers, agent: false },
    });
  }

  #join(answer: IncomingMessage, tunnel: Socket, head: Buffer): void {
    const socket = this.#socket;
    if (socket.destroyed) return void tunnel.destroy();
    tunnel.setTimeout(0).setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    this.firstByteMs = performance.now();
    this.status = 101;
    const own = ['connection', 'Upgrade', 'upgrade', String(answer.headers.upgrade)];
    const lines = headLines(101, [...headersToClient(answer.rawHeaders, this.requestId), ...own]);
    socket.setNoDelay(true).write(lines, 'latin1');
    if (head.length > 0) socket.write(head);
    if (this.#head.length > 0) tunnel.write(this.#head);
    joinSockets(socket, tunnel);
  }

  /** An answer in the place of a change of protocol; the connection ends with it. */
  #refuse(answer: IncomingMessage, end: () => void): void {
    this.firstByteMs = performance.now();
    this.status = answer.statusCode ?? 0;
    this.hasFailed = this.status >= 500;
    const passed = [...headersToClient(answer.rawHeaders, this.requestId), 'connection', 'close'];
    this.#socket.write(headLines(this.status, passed), 'latin1');
    answer.once('close', end).pipe(this.#socket);
  }
}

function headLines(status: number, headers: readonly string[]): string {
  const lines = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1] ?? ''}\r\n`] : []));
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Answered'}\r\n${lines.join('')}\r\n`;
}
