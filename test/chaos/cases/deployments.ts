import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Deployment, ReplicaView } from '../../../src/contract/index.js';
import type { Berth, Part } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import {
  apply,
  containersAre,
  killPart,
  killReplica,
  load,
  loseNode,
  once,
  onService,
  outside,
  serves,
} from '../support/deployments.js';

const nobodyServes = ({ replicasServing }: Deployment): boolean => replicasServing < 1;
const isActive = ({ route }: ReplicaView): boolean => route === 'ACTIVE';
const TWO_NODES = { stage: 'two-nodes', seconds: 55 } as const;

/** One replica and the moment to meet it at. */
interface Step {
  readonly says: string;
  readonly is: (replica: ReplicaView) => boolean;
}

/** Of a rollout from revision 1 to 2: its first replica is made, it serves, an old one drains. */
const STEPS: readonly Step[] = [
  { says: 'a replica of the target is made', is: ({ revision }) => revision === 2 },
  { says: 'a replica of the target serves', is: (one) => one.revision === 2 && isActive(one) },
  { says: 'an old one drains', is: (one) => one.revision === 1 && !isActive(one) },
];
/** Of a scale of two that serve. */
const IS_MADE: Step = { says: 'a third one is made', is: (one) => !isActive(one) };
const DRAINS: Step = { says: 'one drains', is: ({ route }) => route === 'DRAINING' };
/** Its node can be lost only once it has one. */
const placed = ({ says, is }: Step): Step => ({ says, is: (one) => one.node !== null && is(one) });

async function met(berth: Berth, { says, is }: Step): Promise<{ replica: ReplicaView; seen: Deployment }> {
  const seen = await once(berth, says, { holds: ({ replicas }) => replicas.some(is), never: nobodyServes });
  return { replica: seen.replicas.find(is) as ReplicaView, seen };
}

const inRollout = (part: Part, promise: string): ChaosCase[] =>
  STEPS.map((step) =>
    onService(`${part} is killed in a rollout when ${step.says}: it goes on, and ${promise}`, async (berth) => {
      const under = await load(berth);
      await apply(berth, '2');
      await met(berth, step);
      const gaps = await killPart(berth, part);
      await once(berth, 'the new revision serves', { ...serves(2, 2), never: nobodyServes });
      expect(outside(await under.stop(), gaps)).toEqual([]);
      await containersAre(berth, 2);
      await berth.back(part);
    }),
  );

const inScale = (part: Part, promise: string): ChaosCase =>
  onService(`${part} is killed when a scale makes a replica, and when one drains: ${promise}`, async (berth) => {
    const under = await load(berth);
    await berth.client.deployments.scale('chaos-web', 3);
    await met(berth, IS_MADE);
    const up = await killPart(berth, part);
    await once(berth, 'three serve', { ...serves(3, 1), never: nobodyServes });
    await berth.back(part);
    await berth.client.deployments.scale('chaos-web', 1);
    await met(berth, DRAINS);
    const down = await killPart(berth, part);
    await once(berth, 'one is left', { ...serves(1, 1), never: nobodyServes });
    expect(outside(await under.stop(), [...up, ...down])).toEqual([]);
    await containersAre(berth, 1);
    await berth.back(part);
  });

const replicaInRollout = STEPS.map((step) =>
  onService(
    `a replica that serves is killed in a rollout when ${step.says}: its traffic is away within 1 s`,
    async (berth) => {
      const under = await load(berth);
      await apply(berth, '2');
      const { seen } = await met(berth, step);
      const gaps = await killReplica(berth, seen.replicas.find(isActive) as ReplicaView);
      await once(berth, 'the new revision serves', { ...serves(2, 2), never: nobodyServes });
      expect(outside(await under.stop(), gaps)).toEqual([]);
      await containersAre(berth, 2);
    },
  ),
);

const replicaInScale = onService(
  'a replica that serves is killed when a scale makes one, and when one drains: its traffic is away within 1 s',
  async (berth) => {
    const under = await load(berth);
    await berth.client.deployments.scale('chaos-web', 3);
    const made = await met(berth, IS_MADE);
    const up = await killReplica(berth, made.seen.replicas.find(isActive) as ReplicaView);
    await once(berth, 'three serve', { ...serves(3, 1), never: nobodyServes });
    await berth.client.deployments.scale('chaos-web', 2);
    const drains = await met(berth, DRAINS);
    const down = await killReplica(berth, drains.seen.replicas.find(isActive) as ReplicaView);
    await once(berth, 'two are left', { ...serves(2, 1), never: nobodyServes });
    expect(outside(await under.stop(), [...up, ...down])).toEqual([]);
    await containersAre(berth, 2);
  },
);

/** Of the two that serve that one is elsewhere which leaves first; the target's first one is made on the node that is lost. */
const loneProof = onService(
  'a node is lost with all of the target that served: the old one elsewhere stays until another serves',
  async (berth) => {
    const under = await load(berth);
    const [elsewhere, there] = (await berth.client.deployments.get('chaos-web')).replicas;
    expect(there?.node).not.toBe(elsewhere?.node);
    await berth.client.nodes.cordon(elsewhere?.node ?? '');
    await apply(berth, '2');
    await met(berth, STEPS[1] as Step);
    await berth.client.nodes.uncordon(elsewhere?.node ?? '');
    const lost = await loseNode(berth, there?.node ?? null);
    await once(berth, 'two serve elsewhere', {
      holds: (seen) => serves(2, 2).holds(seen) && lost.isLeft(seen),
      never: nobodyServes,
    });
    expect(outside(await under.stop(), lost.gaps)).toEqual([]);
    await lost.back();
    await containersAre(berth, 2);
  },
  TWO_NODES,
);

/** The node of a replica at that step is lost; there is one that serves on the other node. */
async function losesNode(berth: Berth, step: Step, { count, revision }: { count: number; revision: number }) {
  const under = await load(berth);
  if (revision === 2) await apply(berth, '2');
  else await berth.client.deployments.scale('chaos-web', count);
  const { replica } = await met(berth, placed(step));
  const lost = await loseNode(berth, replica.node);
  await once(berth, `${count} serve elsewhere`, {
    holds: (seen) => serves(count, revision).holds(seen) && lost.isLeft(seen),
    never: nobodyServes,
  });
  expect(outside(await under.stop(), lost.gaps)).toEqual([]);
  await lost.back();
  await containersAre(berth, count);
}

const nodeIsLost: readonly ChaosCase[] = [
  ...STEPS.map((step) =>
    onService(
      `a node is lost in a rollout when ${step.says}: it goes on elsewhere, traffic is away within 1 s`,
      (berth) => losesNode(berth, step, { count: 2, revision: 2 }),
      TWO_NODES,
    ),
  ),
  onService(
    'a node is lost when a scale makes a replica there: as many as are wanted serve elsewhere',
    (berth) => losesNode(berth, IS_MADE, { count: 3, revision: 1 }),
    TWO_NODES,
  ),
  onService(
    'a node is lost when one drains there after a scale: as many as are wanted serve elsewhere',
    async (berth) => {
      await berth.client.deployments.scale('chaos-web', 3);
      await once(berth, 'three serve', serves(3, 1));
      await losesNode(berth, DRAINS, { count: 2, revision: 1 });
    },
    TWO_NODES,
  ),
];

const canary = onService(
  'a canary takes its steps while its control worker is killed: no request fails',
  async (berth) => {
    const steps = [20, 50].map((percent) => ({ percent, holdSeconds: 6 }));
    const under = await load(berth);
    await apply(berth, '2', { strategy: { kind: 'canary', steps } });
    for (const { percent } of steps) {
      await once(berth, `the target gets ${percent} %`, {
        holds: ({ rollout }) => rollout?.percent === percent,
        never: nobodyServes,
      });
      await berth.kill('control-1');
      await pause(1_000);
      expect(Math.abs((await under.share('2', 3)) - percent)).toBeLessThan(10);
    }
    await once(berth, 'the new revision serves', { ...serves(2, 2), never: nobodyServes });
    expect(await under.stop()).toEqual([]);
    await containersAre(berth, 2);
    await berth.back('control-1');
  },
);

const endsInRollout = (part: Part): ChaosCase =>
  onService(`it is taken away in a rollout, and ${part} is killed: nothing is left`, async (berth) => {
    const under = await load(berth);
    await apply(berth, '2');
    await met(berth, STEPS[0] as Step);
    await berth.client.deployments.remove('chaos-web');
    const removedMs = performance.now();
    await berth.kill(part);
    await pause(1_000);
    expect(await under.share('1', 2)).toBe(0);
    const after = (await under.stop()).filter(({ beganMs }) => beganMs > removedMs + 1_000);
    // not routed, then unknown with its token
    expect(after.filter(({ why }) => why !== 'status 503' && why !== 'status 401')).toEqual([]);
    await once(berth, 'it has ended', { holds: ({ state }) => state === 'ENDED' });
    await containersAre(berth, 0);
    await berth.back(part);
  });

const BAD: readonly (readonly [what: string, template: Parameters<typeof apply>[2]])[] = [
  ['image is missing', { template: { image: 'berth/is-not-there:1' } }],
  ['command ends at once', { template: { command: ['sh', '-c', 'exit 3'] } }],
  [
    'check never succeeds',
    { template: { command: ['sh', '-c', 'exec sleep 600'], health: { path: '/', initialDelaySeconds: 3 } } },
  ],
];

export const deploymentCases: readonly ChaosCase[] = [
  ...inRollout('control-1', 'no request fails'),
  ...inRollout('node', 'no request fails'),
  ...inRollout('gateway', 'what comes after is served'),
  ...replicaInRollout,
  inScale('control-1', 'no request fails'),
  inScale('node', 'no request fails'),
  inScale('gateway', 'what comes after is served'),
  replicaInScale,
  ...nodeIsLost,
  loneProof,
  canary,
  onService(
    'a replica is killed beside its control worker: its traffic is away within 1 s, it is replaced',
    async (berth) => {
      const under = await load(berth);
      const [victim] = (await berth.client.deployments.get('chaos-web')).replicas;
      await berth.kill('control-1');
      const gaps = await killReplica(berth, victim as ReplicaView);
      await once(berth, 'the dead one is replaced', {
        holds: (seen) =>
          serves(2, 1).holds(seen) &&
          seen.replicas.every(({ sessionId, route }) => sessionId !== victim?.sessionId || route === 'ENDED'),
      });
      expect(outside(await under.stop(), gaps)).toEqual([]);
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
        await met(berth, { says: 'it is tried', is: ({ revision }) => revision === 2 });
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
  endsInRollout('node'),
  endsInRollout('control-1'),
];
