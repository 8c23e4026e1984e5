import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { BUSYBOX_IMAGE } from '../../../infra/setup/image.mjs';
import type { ApplyDeploymentInput, Deployment, ReplicaView } from '../../../src/contract/index.js';
import { type EndpointLoad, type FailedRequest, loadEndpoint } from '../../support/endpoint-load.js';
import { eventually } from '../../support/process.js';
import type { Berth, Part } from './berth.js';
import type { ChaosCase } from './chaos-case.js';
import { containersOf, engineOf } from './engine-of.js';

export const SERVICE = 'chaos-web';
const SERVES = 'mkdir -p /tmp/w; echo ok $VERSION > /tmp/w/index.html; exec httpd -f -p 8000 -h /tmp/w';
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

/** Requests that were under way at `fromMs` or began until a second after `toMs` may fail. */
export interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
}
const SECOND_MS = 1_000;

export const outside = (failed: readonly FailedRequest[], gaps: readonly Gap[]): readonly FailedRequest[] =>
  failed.filter(({ beganMs }) =>
    gaps.every(({ fromMs, toMs }) => beganMs < fromMs - SECOND_MS || beganMs > toMs + SECOND_MS),
  );

/** Kills a process of Berth. Only the gateway's absence is a gap. */
export async function killPart(berth: Berth, part: Part): Promise<readonly Gap[]> {
  const fromMs = performance.now();
  await berth.kill(part);
  if (part !== 'gateway') return [];
  await berth.back(part);
  return [{ fromMs, toMs: performance.now() }];
}

/** Kills the container of a replica past the agent. */
export async function killReplica(
  berth: Berth,
  { sessionId }: Pick<ReplicaView, 'sessionId'>,
): Promise<readonly Gap[]> {
  const [container] = await engineOf(berth).list({ 'berth.session': sessionId });
  if (container === undefined) throw new Error(`no container of ${sessionId}`);
  const fromMs = performance.now();
  await engineOf(berth).kill(container.name);
  return [{ fromMs, toMs: performance.now() }];
}

export interface LostNode {
  readonly gaps: readonly Gap[];
  /** Nothing that lives is on it. */
  readonly isLeft: (seen: Deployment) => boolean;
  /** Its agent is started again. */
  back(): Promise<void>;
}

/** A node vanishes, and with it its agent and its containers; nothing that dies is started again until it is back. */
export async function loseNode(berth: Berth, node: string | null): Promise<LostNode> {
  const part: Part = node === berth.node ? 'node' : 'node-2';
  const engine = engineOf(berth);
  const goOn = berth.freezeSupervisor();
  const fromMs = performance.now();
  await berth.kill(part);
  const running = (await engine.list({ 'berth.node': node ?? '' })).filter(({ exitCode }) => exitCode === undefined);
  await Promise.all(running.map(({ name }) => engine.kill(name)));
  return {
    gaps: [{ fromMs, toMs: performance.now() }],
    isLeft: ({ replicas }) => replicas.every((one) => one.node !== node || ['DRAINING', 'ENDED'].includes(one.route)),
    async back() {
      goOn();
      await berth.back(part);
    },
  };
}

export interface ServiceLoad extends EndpointLoad {
  /** Percent of the good answers of the next `seconds` that are of that version. */
  share(version: string, seconds: number): Promise<number>;
}

/** Requests at the endpoint all the while; those that failed are told at its stop. */
export async function load({ client, gatewayUrl }: Berth): Promise<ServiceLoad> {
  const versions: string[] = [];
  const isGood = (status: number, body: string): boolean => {
    const [, version] = /^ok (\d)\n$/.exec(body) ?? [];
    if (status !== 200 || version === undefined) return false;
    versions.push(version);
    return true;
  };
  const under = await loadEndpoint({ client, gatewayUrl, name: SERVICE, path: '/index.html', isGood });
  return {
    ...under,
    async share(version, seconds) {
      const from = versions.length;
      await pause(seconds * 1000);
      const answers = versions.slice(from);
      return (100 * answers.filter((one) => one === version).length) / Math.max(1, answers.length);
    },
    async stop() {
      const failed = await under.stop();
      expect(under.sent()).toBeGreaterThan(10);
      return failed;
    },
  };
}

/** Two replicas that serve, what is tried on them, and their end. */
export const onService = (
  title: string,
  run: (berth: Berth) => Promise<void>,
  { seconds = 45, ...more }: Partial<Pick<ChaosCase, 'seconds' | 'stage'>> = {},
): ChaosCase => ({
  title: `deployments: ${title}`,
  seconds,
  onlyWhole: true,
  ...more,
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
