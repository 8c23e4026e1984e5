import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Containers } from '../docker/containers.js';
import { joinSockets, refuseUpgrade, TUNNEL_PROTOCOL } from '../platform/join-sockets.js';
import type { Logger } from '../platform/log.js';
import type { TokenCheck } from './agent-token.js';
import { containerName, type KernelRun } from './kernel-container.js';
import { connectKernelPort, type PortRefusal } from './kernel-port.js';
import { runTerminal } from './terminal.js';

export interface UpgradeDeps {
  readonly containers: Pick<Containers, 'inspect' | 'exec'>;
  readonly isAllowed: TokenCheck;
  readonly log: Logger;
}

const PATH = /^\/v1\/kernels\/(krn_[0-9a-z]{26})\/(\d{1,9})\/(?:ports\/(\d{1,5})|(terminal))$/;
const MESSAGE_BYTES_MAX = 1024 * 1024;
const REFUSALS: Readonly<Record<PortRefusal, readonly [status: number, code: string]>> = {
  none: [404, 'not_found'],
  stopped: [409, 'conflict'],
  closed: [502, 'upstream_failed'],
};

interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Connections through the agent's port: raw to a port of a kernel, or a WebSocket to a command in it. */
export function createUpgrades(deps: UpgradeDeps): (upgrade: Upgrade) => Promise<void> {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES_MAX, perMessageDeflate: false });
  return async (upgrade) => {
    const { request, socket } = upgrade;
    socket.on('error', () => socket.destroy());
    const [, kernelId, attempt, port, terminal] = PATH.exec(new URL(request.url ?? '/', 'http://agent').pathname) ?? [];
    if (kernelId === undefined) return refuse(socket, 404, 'not_found');
    const run = { kernelId, attempt: Number(attempt) };
    const asked = terminal === undefined ? { operation: 'port' as const, containerPort: Number(port) } : TERMINAL;
    if (!(await deps.isAllowed(request.headers.authorization, { ...run, ...asked }))) {
      return refuse(socket, 401, 'unauthenticated');
    }
    if ('containerPort' in asked) return tunnel(deps, upgrade, { run, containerPort: asked.containerPort });
    return openTerminal(deps, upgrade, { run, sockets });
  };
}

const TERMINAL = { operation: 'terminal' } as const;

const refuse = (socket: Duplex, status: number, code: string): void =>
  refuseUpgrade(socket, {
    status,
    headers: { 'content-type': 'application/problem+json' },
    body: JSON.stringify({ status, code }),
  });

interface PortOfRun {
  readonly run: KernelRun;
  readonly containerPort: number;
}

async function tunnel(
  { containers }: UpgradeDeps,
  { request, socket, head }: Upgrade,
  { run, containerPort }: PortOfRun,
): Promise<void> {
  if (request.headers.upgrade?.toLowerCase() !== TUNNEL_PROTOCOL) return refuse(socket, 400, 'invalid_request');
  const target = await connectKernelPort(containers, run, containerPort);
  if (typeof target === 'string') return refuse(socket, ...REFUSALS[target]);
  if (socket.destroyed) return void target.destroy();
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${TUNNEL_PROTOCOL}\r\n\r\n`);
  if (head.length > 0) target.write(head);
  joinSockets(socket, target);
}

interface TerminalOfRun {
  readonly run: KernelRun;
  readonly sockets: WebSocketServer;
}

async function openTerminal(
  { containers, log }: UpgradeDeps,
  { request, socket, head }: Upgrade,
  { run, sockets }: TerminalOfRun,
): Promise<void> {
  const name = containerName(run);
  const state = await containers.inspect(name);
  if (state === undefined) return refuse(socket, ...REFUSALS.none);
  if (state.status !== 'running') return refuse(socket, ...REFUSALS.stopped);
  const opened = await new Promise<WebSocket>((resolve) => {
    sockets.handleUpgrade(request, socket, head, resolve);
  });
  await runTerminal(containers, opened, name).catch((error: unknown) => {
    log.warn({ err: error, ...run }, 'a terminal broke off');
    opened.terminate();
  });
}
