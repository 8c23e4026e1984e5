import { createServer, type Server } from 'node:http';
import { Counter, collectDefaultMetrics, Registry } from 'prom-client';

/** A registry of this process alone, with Node's own figures in it. */
export function createRegistry(process: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ process });
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** Counts by name: `<prefix>_<name>_total`, each made at its first use. */
export function countersIn(registry: Registry, prefix: string): (name: string, by?: number) => void {
  const counters = new Map<string, Counter>();
  return (name, by = 1) => {
    const full = `${prefix}_${name}_total`;
    const counter =
      counters.get(full) ?? new Counter({ name: full, help: name.replaceAll('_', ' '), registers: [registry] });
    counters.set(full, counter);
    counter.inc(by);
  };
}

/** A registry, or several together. */
export interface Exposed {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export interface MetricsServer {
  readonly port: number;
  close(): Promise<void>;
}

/** `/metrics` and `/healthz` without a key, on the loopback interface only. Port 0 takes a free one. */
export async function startMetricsServer(registry: Exposed, port: number): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    if (request.url === '/healthz') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
      return;
    }
    if (request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(503, { 'retry-after': '5' }).end(),
    );
  });
  await listen(server, port);
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
