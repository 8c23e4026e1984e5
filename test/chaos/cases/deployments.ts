import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Deployment } from '../../../src/contract/index.js';
import type { Part } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { apply, containersAre, load, once, onService, serves } from '../support/deployments.js';
import { containersOf, engineOf } from '../support/engine-of.js';

const ofRevision = (revision: number, route: string) => ({
  holds: ({ replicas }: Deployment) => replicas.some((one) => one.revision === revision && one.route === route),
});
const nobodyServes = ({ replicasServing }: Deployment): boolean => replicasServing < 1;

/** Where a rollout may be met: its first replica is made, it warms up or serves, an old one drains. */
const STEPS: readonly (readonly [says: string, found: ReturnType<typeof ofRevision>])[] = [
  ['a replica of the target is made', { holds: ({ replicas }) => replicas.some(({ revision }) => revision === 2) }],
  ['a replica of the target serves', ofRevision(2, 'ACTIVE')],
  [
    'an old one drains',
    { holds: ({ replicas }) => replicas.some(({ revision, route }) => revision === 1 && route !== 'ACTIVE') },
  ],
];

const inRollout = (part: Part): ChaosCase[] =>
  STEPS.map(([says, found]) =>
    onService(`${part} is killed in a rollout when ${says}: it goes on, and no request fails`, async (berth) => {
      const under = await load(berth);
      await apply(berth, '2');
      await once(berth, says, found);
      await berth.kill(part);
      await once(berth, 'the new revision serves', { ...serves(2, 2), never: nobodyServes });
      expect(await under.stop()).toEqual([]);
      await containersAre(berth, 2);
      await berth.back(part);
    }),
  );

const BAD: readonly (readonly [what: string, template: Parameters<typeof apply>[2]])[] = [
  ['image is missing', { template: { image: 'berth/is-not-there:1' } }],
  ['command ends at once', { template: { command: ['sh', '-c', 'exit 3'] } }],
  [
    'check never succeeds',
    { template: { command: ['sh', '-c', 'exec sleep 600'], health: { path: '/', initialDelaySeconds: 3 } } },
  ],
];

export const deploymentCases: readonly ChaosCase[] = [
  ...inRollout('control-1'),
  ...inRollout('node'),
  onService('the gateway is killed in a rollout: it is back, and what comes after is served', async (berth) => {
    const under = await load(berth);
    await apply(berth, '2');
    await once(berth, 'a replica of the target serves', ofRevision(2, 'ACTIVE'));
    await berth.kill('gateway');
    await berth.back('gateway');
    const backMs = performance.now() + 1_000;
    await once(berth, 'the new revision serves', { ...serves(2, 2), never: nobodyServes });
    expect((await under.stop()).filter(({ beganMs }) => beganMs > backMs)).toEqual([]);
    await containersAre(berth, 2);
  }),
  onService(
    'a replica is killed beside its control worker: its traffic is away within 1 s, it is replaced',
    async (berth) => {
      const under = await load(berth);
      const [victim] = (await berth.client.deployments.get('chaos-web')).replicas;
      const [container] = await engineOf(berth).list({ 'berth.session': victim?.sessionId ?? '' });
      await berth.kill('control-1');
      const killedMs = performance.now();
      await engineOf(berth).kill(container?.name ?? '');
      await once(berth, 'the dead one is replaced', {
        holds: (seen) =>
          serves(2, 1).holds(seen) &&
          seen.replicas.every(({ sessionId, route }) => sessionId !== victim?.sessionId || route === 'ENDED'),
      });
      const failed = await under.stop();
      expect(failed.filter(({ beganMs }) => beganMs > killedMs + 1_000)).toEqual([]);
      await berth.back('control-1');
      await containersAre(berth, 2);
    },
  ),
  onService(
    'the agent and the control worker are killed while it scales up and a rollout begins: one truth',
    async (berth) => {
      const under = await load(berth);
      await Promise.all([berth.client.deployments.scale('chaos-web', 3), apply(berth, '2', { replicas: 3 })]);
      await Promise.all([berth.kill('node'), berth.kill('control-1')]);
      await once(berth, 'three of the new revision', { ...serves(3, 2), never: nobodyServes });
      await berth.client.deployments.scale('chaos-web', 1);
      await pause(100);
      await berth.kill('control-1');
      await once(berth, 'one is left', serves(1, 2));
      expect(await under.stop()).toEqual([]);
      await containersAre(berth, 1);
      await Promise.all([berth.back('node'), berth.back('control-1')]);
    },
  ),
  ...BAD.map(([what, bad]) =>
    onService(
      `a revision whose ${what} takes nobody, and goes back by itself, though its control worker is killed`,
      async (berth) => {
        const under = await load(berth);
        await apply(berth, '2', { ...bad, rolloutTimeoutSeconds: 20 });
        await once(berth, 'it is tried', { holds: ({ replicas }) => replicas.some(({ revision }) => revision === 2) });
        await berth.kill('control-1');
        await once(berth, 'the first revision serves alone', { ...serves(2, 1), never: nobodyServes });
        expect(await under.stop()).toEqual([]);
        expect((await berth.client.deployments.revisions('chaos-web').toArray())[0]).toMatchObject({
          revision: 2,
          state: 'failed',
        });
        await containersAre(berth, 2);
        await berth.back('control-1');
      },
    ),
  ),
  onService('it is taken away in a rollout, and the agent is killed: nothing is left', async (berth) => {
    await apply(berth, '2');
    await once(berth, 'a replica of the target is made', {
      holds: ({ replicas }) => replicas.some(({ revision }) => revision === 2),
    });
    await berth.client.deployments.remove('chaos-web');
    await berth.kill('node');
    await berth.back('node');
    await once(berth, 'it has ended', { holds: ({ state }) => state === 'ENDED' || state === 'ENDING' });
    expect((await containersOf(berth)).length).toBeLessThanOrEqual(4);
  }),
];
