import { Counter, Gauge, type Registry } from 'prom-client';
import type { DeploymentStore } from '../store/deployment-store.js';

interface Shown {
  readonly labels: readonly string[];
  readonly help: string;
}

/** Of the ledger, with their labels: `DeploymentStore.metrics` counts them. */
const GAUGES: Readonly<Record<string, Shown>> = {
  deployments: { labels: ['state'], help: 'deployments that have not ended, by state' },
  deployment_replicas: { labels: ['deployment', 'count'], help: 'replicas: wanted, live and serving' },
  deployment_failures_in_a_row: { labels: ['deployment'], help: 'replicas that failed one after another' },
  deployment_rollouts: { labels: ['deployment'], help: '1 while a rollout is under way' },
};
const COUNTERS: Readonly<Record<string, Shown>> = {
  deployment_requests_total: { labels: ['deployment'], help: 'requests, as the gateways told' },
  deployment_failed_requests_total: { labels: ['deployment'], help: 'requests that failed, as the gateways told' },
};
const FRESH_MS = 5_000;

type Figures = Awaited<ReturnType<DeploymentStore['metrics']>>;

/** One read for all that ask within 5 s: a scrape asks once for each metric. */
function shared(deployments: DeploymentStore): (name: string) => Promise<Figures> {
  let latest: { readonly at: number; readonly value: Promise<Figures> } | undefined;
  return async (name) => {
    if (latest === undefined || Date.now() - latest.at > FRESH_MS) {
      const value = deployments.metrics();
      latest = { at: Date.now(), value };
      value.catch(() => (latest = undefined)); // the next scrape asks again
    }
    return (await latest.value).filter((figure) => figure.name === name);
  };
}

/** `berth_deployment*`, read from the ledger at most each 5 s. */
export function measureDeployments(registry: Registry, deployments: DeploymentStore): void {
  const figures = shared(deployments);
  const shownAs = (name: string, { labels, help }: Shown) => ({
    name: `berth_${name}`,
    help,
    labelNames: [...labels],
    registers: [registry],
  });
  for (const [name, shown] of Object.entries(GAUGES))
    new Gauge({
      ...shownAs(name, shown),
      async collect() {
        const own = await figures(name);
        this.reset();
        for (const { labels, value } of own) this.set(labels, value);
      },
    });
  for (const [name, shown] of Object.entries(COUNTERS))
    new Counter({
      ...shownAs(name, shown),
      async collect() {
        const own = await figures(name);
        this.reset();
        for (const { labels, value } of own) this.inc(labels, value);
      },
    });
}
