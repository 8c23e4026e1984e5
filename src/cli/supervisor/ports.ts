import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** Below the ports that systems give to connections that go out: one of those may be taken whenever its process is down. */
const [LOWEST, HIGHEST] = [20_000, 29_999];

export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  await new Promise((resolve) => server.close(resolve));
  return true;
}

/** The usual port when it is free and wanted, else any free one that is not in `taken`. */
export async function choosePort(usual: number | undefined, taken: ReadonlySet<number>): Promise<number> {
  if (usual !== undefined && !taken.has(usual) && (await isPortFree(usual))) return usual;
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    if (!taken.has(port) && (await isPortFree(port))) return port;
  }
  throw new Error('no free port on 127.0.0.1');
}

/** True when something accepts a connection there. */
export function accepts(host: string, port: number, timeoutMs = 2_000): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => settle(false));
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
  });
}
