import { Agent, type ClientRequestArgs } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AgentDoor, KernelPlace } from './agent-door.js';

/** Shorter than the 5 s after which the quickest of app servers close an idle connection. */
const IDLE_MS = 4_000;
const IDLE_SOCKETS_MAX = 64;

/** A port of a session where it is now. */
export interface Upstream {
  readonly sessionId: string;
  readonly place: KernelPlace;
  readonly containerPort: number;
}

/** Connections to the ports of kernels, kept open between requests. */
export interface Upstreams {
  agentOf(upstream: Upstream): Agent;
  /** One that is used once; throws `DoorClosed` before anything was answered. */
  connect(upstream: Upstream): Promise<Socket>;
  /** Cuts what goes to other places than this one (null: to any) of a session. */
  keepOnly(sessionId: string, place: KernelPlace | null): void;
  close(): void;
}

interface Pool {
  readonly sessionId: string;
  readonly placeKey: string;
  readonly agent: Agent;
  readonly sockets: Set<Socket>;
  readonly connect: () => Promise<Socket>;
}

const keyOfPlace = ({ kernelId, attempt, node }: KernelPlace): string => `${kernelId}-${attempt}@${node}`;

export function createUpstreams(door: AgentDoor): Upstreams {
  const pools = new Map<string, Pool>();

  const poolOf = ({ sessionId, place, containerPort }: Upstream): Pool => {
    const placeKey = keyOfPlace(place);
    const key = `${placeKey}:${containerPort}`;
    const known = pools.get(key);
    if (known !== undefined) return known;
    const sockets = new Set<Socket>();
    const connect = async (): Promise<Socket> => {
      const socket = await door.toPort(place, containerPort);
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    };
    const pool: Pool = { sessionId, placeKey, agent: new TunnelAgent(connect), sockets, connect };
    pools.set(key, pool);
    return pool;
  };
  const end = (key: string, { agent, sockets }: Pool) => {
    pools.delete(key);
    agent.destroy();
    for (const socket of sockets) socket.destroy();
  };

  return {
    agentOf: (upstream) => poolOf(upstream).agent,
    connect: (upstream) => poolOf(upstream).connect(),
    keepOnly(sessionId, place) {
      const kept = place === null ? null : keyOfPlace(place);
      for (const [key, pool] of pools) if (pool.sessionId === sessionId && pool.placeKey !== kept) end(key, pool);
    },
    close() {
      for (const [key, pool] of pools) end(key, pool);
    },
  };
}

type OnConnected = (error: Error | null, stream: Duplex) => void;

/** Node's own pool of connections, which are made through an agent's port. */
class TunnelAgent extends Agent {
  readonly #connect: () => Promise<Socket>;
  constructor(connect: () => Promise<Socket>) {
    super({ keepAlive: true, maxFreeSockets: IDLE_SOCKETS_MAX, timeout: IDLE_MS, scheduling: 'lifo' });
    this.#connect = connect;
  }
  override createConnection(_options: ClientRequestArgs, onConnected?: OnConnected): undefined {
    this.#connect().then(
      (socket) => onConnected?.(null, socket),
      (error: unknown) => onConnected?.(error as Error, undefined as never),
    );
  }
}

/** Hands a connection that is there to the one request that wants it. */
export class OneConnection extends Agent {
  readonly #socket: Socket;
  constructor(socket: Socket) {
    super({ keepAlive: false });
    this.#socket = socket;
  }
  override createConnection(): Socket {
    return this.#socket;
  }
}
