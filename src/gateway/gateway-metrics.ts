import { Counter, Gauge, type Registry } from 'prom-client';

export interface GatewayMetrics {
  /** What became of a request or an upgrade: `forwarded`, or the code of the page that was answered. */
  answered(how: string): void;
  opened(): void;
  closed(): void;
}

export function gatewayMetrics(registry: Registry): GatewayMetrics {
  const requests = new Counter({
    name: 'berth_app_requests_total',
    help: 'requests and upgrades for apps, by what became of them',
    labelNames: ['how'],
    registers: [registry],
  });
  const sockets = new Gauge({ name: 'berth_app_sockets', help: 'open upgraded connections', registers: [registry] });
  return {
    answered: (how) => requests.inc({ how }),
    opened: () => sockets.inc(),
    closed: () => sockets.dec(),
  };
}
