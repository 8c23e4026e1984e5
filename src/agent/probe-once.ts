import { connect } from 'node:net';
import { request } from 'undici';
import type { HealthCheck } from '../contract/index.js';
import type { ContainerState } from '../docker/container-state.js';
import type { Miss } from './probe-level.js';
import { within } from './within.js';

/** Whoever publishes the port takes the connection and closes it, where nobody listens behind it. */
const CLOSED: readonly string[] = ['ECONNRESET', 'UND_ERR_SOCKET', 'EPIPE'];
const REFUSED_WITHIN_MS = 1_000;

type Asked = Pick<HealthCheck, 'port' | 'path' | 'timeoutSeconds'>;

/** One question. Undefined: it answered with 2xx or 3xx in time. */
export async function probeOnce(
  container: ContainerState,
  check: Asked,
  signal: AbortSignal,
): Promise<Miss | undefined> {
  const url = containerUrl(container, check);
  if (url === undefined) return { refused: false, message: 'the container has no address' };
  const code = await missOf(url, check, signal);
  if (code === undefined) return undefined;
  const refused = code === 'ECONNREFUSED' || (CLOSED.includes(code) && (await nobodyListens(container, check.port)));
  return { refused, message: refused ? 'the connection is refused' : code };
}

const missOf = (url: string, { timeoutSeconds }: Asked, signal: AbortSignal): Promise<string | undefined> =>
  within(timeoutSeconds * 1000, signal, async (until) => {
    try {
      const { statusCode, body } = await request(url, { signal: until, reset: true });
      body.on('error', () => undefined).destroy();
      return statusCode >= 200 && statusCode < 400 ? undefined : `status ${statusCode}`;
    } catch (error) {
      if (until.aborted) return `no answer within ${timeoutSeconds} s`;
      return error instanceof Error && 'code' in error ? String(error.code) : 'no answer';
    }
  });

/** Asked at the container itself; where its address cannot be reached from here, it is not known and counts as no. */
async function nobodyListens({ addresses }: ContainerState, port: number): Promise<boolean> {
  const [host] = Object.values(addresses);
  if (host === undefined) return false;
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: REFUSED_WITHIN_MS });
    const done = (refused: boolean): void => {
      socket.destroy();
      resolve(refused);
    };
    socket.once('connect', () => done(false));
    socket.once('timeout', () => done(false));
    socket.once('error', (error) => done('code' in error && error.code === 'ECONNREFUSED'));
  });
}

/** A published port works wherever the engine runs; the container's own address needs it on this machine. */
export function containerUrl(container: ContainerState, at: { readonly port: number; readonly path: string }) {
  const published = container.ports.find((port) => port.containerPort === at.port);
  if (published !== undefined) {
    const host = published.hostAddress === '0.0.0.0' ? '127.0.0.1' : published.hostAddress;
    return `http://${host}:${published.hostPort}${at.path}`;
  }
  const [address] = Object.values(container.addresses);
  return address === undefined ? undefined : `http://${address}:${at.port}${at.path}`;
}
