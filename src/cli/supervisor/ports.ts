import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/** Port 0 asks the kernel for any. Undefined when somebody listens there. */
async function tryListen(port: number): Promise<number | undefined> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  const { port: bound } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return bound;
}

export const isPortFree = async (port: number): Promise<boolean> => (await tryListen(port)) !== undefined;

/** The usual port when it is free and wanted, else any free one that is not in `taken`. */
export async function choosePort(usual: number | undefined, taken: ReadonlySet<number>): Promise<number> {
  if (usual !== undefined && !taken.has(usual) && (await isPortFree(usual))) return usual;
  for (let tries = 0; tries < 100; tries++) {
    const port = await tryListen(0);
    if (port !== undefined && !taken.has(port)) return port;
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
