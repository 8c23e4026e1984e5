import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { eventually } from '../../support/process.js';
import type { Berth } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { engineOf } from '../support/engine-of.js';
import { claim, engineContainers, is, measured, POOL, served, sound } from '../support/models.js';
import { full, onPool, wakingA } from '../support/on-pool.js';

const membersOf = async ({ client }: Berth) => (await client.pools.get(POOL)).members;

/** A plan is recorded that takes some of its limit, and it is not in force yet. */
const isBeingLowered = async ({ store }: Berth, claimId: string): Promise<boolean> =>
  ((await store.models.snapshot(POOL))?.instances ?? []).some(
    (engine) => engine.claimId === claimId && (engine.limitBytes ?? 0) > (engine.plannedBytes ?? 0),
  );

const nodeIs = (berth: Berth, state: string): Promise<void> =>
  eventually(`the node is ${state}`, async () => (await berth.client.nodes.get(berth.node)).state === state, 60);

export const modelPoolCases: readonly ChaosCase[] = [
  onPool(
    'the anchor of a member is killed: its claims are placed on a new one',
    async (berth) => {
      await claim(berth, 'a');
      await served(berth, 'a');
      const [member] = await membersOf(berth);
      const [anchor] = await engineOf(berth).list({
        'berth.node': berth.node,
        'berth.session': member?.sessionId ?? '',
      });
      await engineOf(berth).kill(anchor?.name ?? '');
      await pause(1_000);
      await measured(berth.client, 1);
      await served(berth, 'a');
      expect((await membersOf(berth))[0]?.sessionId).not.toBe(member?.sessionId);
    },
    90,
  ),
  onPool(
    'the node agent is killed while limits are written: the neighbour comes down, the new one starts',
    async (berth) => {
      const { id } = await claim(berth, 'a');
      await served(berth, 'a');
      const asked = claim(berth, 'b');
      for (const until = performance.now() + 20_000; performance.now() < until && !(await isBeingLowered(berth, id)); );
      await berth.kill('node');
      await asked;
      await served(berth, 'b');
      await served(berth, 'a');
      await sound(berth);
      await berth.back('node');
    },
  ),
  onPool('the control worker and the agent are killed at once while a model wakes', async (berth) => {
    await full(berth);
    await wakingA(berth);
    await Promise.all([berth.kill('control-1'), berth.kill('node')]);
    await served(berth, 'a');
    await sound(berth);
    await berth.back('control-1');
    await berth.back('node');
  }),
  onPool(
    'a pool drains while the control worker is killed: its claims wait, and serve once it has members again',
    async (berth) => {
      await claim(berth, 'a');
      await served(berth, 'a');
      await berth.client.pools.drain(POOL);
      await berth.kill('control-1');
      await is(berth, 'a', 'PENDING', 'PoolEmpty');
      await eventually('the members have ended', async () => (await membersOf(berth)).length === 0, 60);
      expect(await engineContainers(berth)).toEqual([]);
      await berth.client.pools.change(POOL, { members: 1 });
      await measured(berth.client, 1);
      await served(berth, 'a');
      await berth.back('control-1');
    },
    90,
  ),
  onPool(
    'a node with a member is cordoned, and drained while the agent is killed: its model waits, and comes back',
    async (berth) => {
      await claim(berth, 'a');
      await served(berth, 'a');
      await berth.client.nodes.cordon(berth.node, 'a fan');
      await served(berth, 'a');
      await berth.client.nodes.drain(berth.node);
      await berth.kill('node');
      await is(berth, 'a', 'PENDING', 'PoolEmpty');
      await nodeIs(berth, 'DRAINED');
      expect(await engineContainers(berth)).toEqual([]);
      await berth.client.nodes.uncordon(berth.node);
      await measured(berth.client, 1);
      await served(berth, 'a');
      await berth.back('node');
    },
    120,
  ),
];
