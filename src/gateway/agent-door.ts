import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { KernelId } from '../contract/index.js';
import { TUNNEL_PROTOCOL } from '../platform/join-sockets.js';
import type { TokenSigner } from '../platform/tokens.js';

const TOKEN_SECONDS = 60;
const ANSWER_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;

export interface KernelPlace {
  readonly kernelId: KernelId;
  readonly attempt: number;
  readonly node: string;
  readonly agentUrl: string;
}

/** `closed`: nothing listens on the port; `gone`: no container that runs; `away`: the agent does not answer. */
export class DoorClosed extends Error {
  override readonly name = 'DoorClosed';
  readonly why: 'closed' | 'gone' | 'away';
  constructor(why: DoorClosed['why'], cause?: unknown) {
    super(`the agent's port: ${why}`, { cause });
    this.why = why;
  }
}

/** A connection that an agent has opened, with the headers that it answered. */
export interface Opened {
  readonly socket: Socket;
  readonly headers: IncomingHttpHeaders;
}

/** Connections through the agents' ports, each asked for with a token of a minute for that node, kernel and operation. */
export interface AgentDoor {
  toPort(place: KernelPlace, containerPort: number): Promise<Socket>;
  /** `headers` are those of the client's own WebSocket handshake. */
  toTerminal(place: KernelPlace, headers: Readonly<Record<string, string>>): Promise<Opened>;
}

export function createAgentDoor(signer: TokenSigner): AgentDoor {
  const open = async (place: KernelPlace, { path, claims, headers }: Wanted): Promise<Opened> => {
    const { node, agentUrl, kernelId, attempt } = place;
    const token = await signer.sign({
      audience: `node/${node}`,
      seconds: TOKEN_SECONDS,
      claims: { kernelId, attempt, ...claims },
    });
    const url = new URL(`/v1/kernels/${kernelId}/${attempt}/${path}`, agentUrl);
    return upgraded(url, { ...headers, connection: 'Upgrade', authorization: `Bearer ${token}` });
  };
  return {
    async toPort(place, containerPort) {
      const claims = { operation: 'port', containerPort };
      const headers = { upgrade: TUNNEL_PROTOCOL };
      return (await open(place, { path: `ports/${containerPort}`, claims, headers })).socket;
    },
    toTerminal: (place, headers) =>
      open(place, {
        path: 'terminal',
        claims: { operation: 'terminal' },
        headers: { ...headers, upgrade: 'websocket' },
      }),
  };
}

interface Wanted {
  readonly path: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
}

function upgraded(url: URL, headers: Readonly<Record<string, string>>): Promise<Opened> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, agent: false, timeout: ANSWER_MS });
    asked.on('timeout', () => asked.destroy(new Error('the agent took too long')));
    asked.on('error', (error) => reject(new DoorClosed('away', error)));
    asked.on('response', (response) => {
      response.resume();
      const { statusCode = 0 } = response;
      const why = statusCode === 502 ? 'closed' : statusCode === 404 || statusCode === 409 ? 'gone' : 'away';
      reject(new DoorClosed(why, new Error(`the agent answered ${statusCode}`)));
    });
    asked.on('upgrade', (response, socket: Socket, head) => {
      socket.setTimeout(0).setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
      if (head.length > 0) socket.unshift(head);
      resolve({ socket, headers: response.headers });
    });
    asked.end();
  });
}
