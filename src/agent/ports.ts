import { once } from 'node:events';
import { createServer } from 'node:net';
import { createPortClaims, type PortClaims } from './port-claims.js';
import { StartRefused } from './start-failure.js';

export interface AssignedPort {
  readonly name: string;
  readonly containerPort: number;
  readonly hostPort: number;
}

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** The node's host ports. What is taken is known from the labels of containers, so it outlives the agent. */
export interface Ports {
  /** A second call of one owner gets the same ports. Throws `StartRefused` (port-taken) when none is free. */
  readonly take: (owner: string, wanted: readonly WantedPort[]) => Promise<readonly AssignedPort[]>;
  /** Ports of a container that is there already. */
  readonly adopt: (owner: string, ports: readonly AssignedPort[]) => void;
  /** What is not held is success. */
  readonly release: (owner: string) => void;
  /** The agent ends; containers keep their ports. */
  readonly close: () => void;
}

export type WantedPort = Omit<AssignedPort, 'hostPort'>;

export function createPorts(range: PortRange, hostAddress: string, claims: PortClaims = createPortClaims()): Ports {
  const owners = new Map<number, string>();
  const held = new Map<string, readonly AssignedPort[]>();
  let cursor = range.first;

  const release = (owner: string): void => {
    held.delete(owner);
    for (const [port, holder] of owners) {
      if (holder !== owner) continue;
      owners.delete(port);
      claims.free(port);
    }
  };

  /** Reserved before it is tried, so that two who ask at once never try the same one. */
  const takeOne = async (owner: string): Promise<number> => {
    for (let tries = range.first; tries <= range.last; tries += 1) {
      const port = cursor;
      cursor = cursor === range.last ? range.first : cursor + 1;
      if (owners.has(port)) continue;
      owners.set(port, owner);
      if (claims.claim(port)) {
        if (await isFree(port, hostAddress)) return port;
        claims.free(port);
      }
      owners.delete(port);
    }
    const message = `no port is free on this node (${range.first}-${range.last})`;
    throw new StartRefused({ cause: 'port-taken', whose: 'platform', message });
  };

  return {
    release,
    close: claims.freeAll,
    adopt: (owner, ports) => {
      held.set(owner, ports);
      for (const { hostPort } of ports) {
        owners.set(hostPort, owner);
        claims.claim(hostPort); // it may not listen yet
      }
    },
    take: async (owner, wanted) => {
      const known = held.get(owner);
      if (known !== undefined) return known;
      try {
        const taken: AssignedPort[] = [];
        for (const { name, containerPort } of wanted) {
          taken.push({ name, containerPort, hostPort: await takeOne(owner) });
        }
        held.set(owner, taken);
        return taken;
      } catch (error) {
        release(owner);
        throw error;
      }
    },
  };
}

/** Something outside Berth may listen there: only binding it tells. */
async function isFree(port: number, host: string): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host, exclusive: true });
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
