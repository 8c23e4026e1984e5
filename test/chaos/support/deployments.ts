import { expect } from 'vitest';
import { BUSYBOX_IMAGE } from '../../../infra/setup/image.mjs';
import type { ApplyDeploymentInput, Deployment } from '../../../src/contract/index.js';
import { type EndpointLoad, loadEndpoint } from '../../support/endpoint-load.js';
import { eventually } from '../../support/process.js';
import type { Berth } from './berth.js';
import type { ChaosCase } from './chaos-case.js';
import { containersOf } from './engine-of.js';

export const SERVICE = 'chaos-web';
const SERVES = 'mkdir -p /tmp/w; echo ok > /tmp/w/index.html; exec httpd -f -p 8000 -h /tmp/w';
type Wish = Partial<Omit<ApplyDeploymentInput, 'template'>> & {
  readonly template?: Partial<ApplyDeploymentInput['template']>;
};

/** Another `version` is another revision. */
export const apply = ({ client }: Berth, version: string, { template, ...more }: Wish = {}): Promise<Deployment> =>
  client.deployments.apply(SERVICE, {
    replicas: 2,
    rolloutTimeoutSeconds: 120,
    ...more,
    template: {
      image: BUSYBOX_IMAGE,
      command: ['sh', '-c', SERVES],
      environment: { VERSION: version },
      port: 8000,
      slots: { cpuMilli: 100, memoryBytes: 16 * 2 ** 20 },
      health: { path: '/index.html', intervalSeconds: 0.5, timeoutSeconds: 2, failures: 3, initialDelaySeconds: 15 },
      drainSeconds: 2,
      gracePeriodSeconds: 1,
      ...template,
    },
  });

/** As it is once that holds. `never` is looked at each time, too. */
export async function once(
  { client }: Berth,
  says: string,
  {
    holds,
    never,
    seconds = 90,
  }: { holds: (seen: Deployment) => boolean; never?: (seen: Deployment) => boolean; seconds?: number },
): Promise<Deployment> {
  let seen: Deployment | undefined;
  await eventually(
    says,
    async () => {
      seen = await client.deployments.get(SERVICE);
      if (never?.(seen) === true) throw new Error(`${says}: nobody serves: ${JSON.stringify(seen.replicas)}`);
      return holds(seen);
    },
    seconds,
  ).catch((error: unknown) => {
    throw new Error(`${(error as Error).message}; it is ${JSON.stringify(seen)}`);
  });
  return seen as Deployment;
}

export const serves = (count: number, revision: number) => ({
  holds: ({ state, replicasServing, replicasLive, currentRevision, rollout }: Deployment): boolean =>
    state === 'READY' &&
    rollout === null &&
    replicasServing === count &&
    replicasLive === count &&
    currentRevision === revision,
});

/** As many containers as there are replicas: nothing is left of those that were replaced. */
export const containersAre = (berth: Berth, count: number): Promise<void> =>
  eventually(`${count} containers`, async () => (await containersOf(berth)).length === count, 60);

/** Requests at the endpoint all the while; those that failed are told at its stop. */
export async function load({ client, gatewayUrl }: Berth): Promise<EndpointLoad> {
  const isGood = (status: number, body: string): boolean => status === 200 && body === 'ok\n';
  const under = await loadEndpoint({ client, gatewayUrl, name: SERVICE, path: '/index.html', isGood });
  return {
    ...under,
    async stop() {
      const failed = await under.stop();
      expect(under.sent()).toBeGreaterThan(10);
      return failed;
    },
  };
}

/** Two replicas that serve, what is tried on them, and their end. */
export const onService = (title: string, run: (berth: Berth) => Promise<void>, seconds = 90): ChaosCase => ({
  title: `deployments: ${title}`,
  seconds,
  onlyWhole: true,
  run: async (berth) => {
    await apply(berth, '1');
    await once(berth, 'two serve', serves(2, 1));
    await run(berth);
    await berth.client.deployments.remove(SERVICE);
    await eventually(
      'the deployment has ended',
      async () => (await berth.client.deployments.list().toArray()).every(({ name }) => name !== SERVICE),
      60,
    );
  },
});
