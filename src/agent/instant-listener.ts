import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { PortSpec } from '../docker/container-spec.js';
import { ContainerFailure } from '../docker/failures.js';

const ENDS = '/end';

/** What a SIMULATED container that publishes ports answers there: 200 with its name, and `POST /end` ends it as a crash would. */
export interface InstantListener {
  /** Connections are cut, too. */
  readonly close: () => void;
}

export async function listenInstantly(
  name: string,
  ports: readonly PortSpec[],
  onEnd: () => void,
): Promise<InstantListener> {
  const servers: Server[] = [];
  const close = (): void => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  };
  try {
    for (const { hostPort, hostAddress } of ports) {
      const server = createServer((request, response) => {
        const isEnd = request.method === 'POST' && request.url === ENDS;
        request.resume();
        if (isEnd) onEnd();
        else response.end(`${name}\n`);
      });
      servers.push(server);
      server.listen(hostPort, hostAddress);
      await once(server, 'listening');
    }
  } catch (error) {
    close();
    throw new ContainerFailure('port_taken', `${name}: ${(error as Error).message}`);
  }
  return { close };
}
