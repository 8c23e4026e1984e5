import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { groupPolicySchema } from '../../src/contract/index.js';
import { type ControlPlane, startControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import type { SimulatedNode } from '../support/simulated-node.js';
import { gpus, running, stopAll } from './course.js';

let plane: ControlPlane;
let other: SimulatedNode;
beforeAll(async () => {
  plane = await startControlPlane({ durations: { slowNetMs: 60_000 } }); // what happens here has its own wake or kick
  other = await plane.addNode('n2');
});
afterAll(() => plane.stop());
afterEach(async () => {
  await stopAll(plane);
  await plane.door.kickGroup('default'); // a pass folds what was released in
  await plane.settled();
});

const drain = async (name: string, deadlineSeconds: number | null = null) => {
  await plane.store.nodes.drain(name, { reason: 'new fans', deadlineSeconds, actor: 'admin' });
  await plane.door.kickGroup('default');
};
const stateOf = async (name: string) => (await plane.store.nodes.get(name))?.state;
const on = (node: string, minRuntimeSeconds: number) =>
  gpus(1, { minRuntimeSeconds, gracePeriodSeconds: 0.5, placement: { nodes: [node] } });

test('a node that drains is empty when it said it would be, and its sessions run on elsewhere', async () => {
  const early = await plane.submit(on('n1', 2));
  const late = await plane.submit(on('n1', 6));
  await running(plane, early);
  await running(plane, late);
  await drain('n1');
  const stated = (await plane.store.nodes.get('n1'))?.drain?.emptyAt ?? '';
  const started = Date.parse((await plane.session(late)).startedAt ?? '');
  expect(Date.parse(stated)).toBe(started + 6_500);
  await running(plane, early, 2);
  expect(await stateOf('n1')).toBe('DRAINING');
  expect((await plane.session(late)).state).toBe('RUNNING');
  await running(plane, late, 2);
  await eventually('it is drained', async () => (await stateOf('n1')) === 'DRAINED');
  expect(Date.now()).toBeLessThan(Date.parse(stated) + 8_000);
  for (const id of [early, late]) {
    expect((await plane.session(id)).kernels[0]?.node).toBe('n2');
    const stop = (await plane.store.events.ofSession(id, null, 100)).find(({ to }) => to === 'PREEMPTING');
    expect(stop?.cause).toBe('drained');
  }
  await plane.store.nodes.setCordon('n1', false, '');
  expect(await stateOf('n1')).toBe('READY');
}, 90_000);

test('the deadline of a drain stops what is protected still', async () => {
  const id = await plane.submit(on('n1', 600));
  await running(plane, id);
  await drain('n1', 2);
  await running(plane, id, 2);
  expect((await plane.session(id)).kernels[0]?.node).toBe('n2');
  await eventually('it is drained', async () => (await stateOf('n1')) === 'DRAINED');
  await plane.store.nodes.setCordon('n1', false, '');
}, 60_000);

test('a node that is moved drains first, takes work of the other group, and keeps none of the first', async () => {
  const policy = groupPolicySchema.parse({});
  await plane.store.settings.createGroup({ name: 'batch', policy, domains: [], projects: [] });
  const here = await plane.submit(on('n2', 0));
  await running(plane, here);
  const there = await plane.submit(gpus(1, { group: 'batch' }));
  const move = { toGroup: 'batch', at: null, repeat: 'none', deadlineSeconds: null } as const;
  await plane.store.nodes.setMove('n2', move, 'admin');
  await plane.door.kickGroup('default');
  await running(plane, here, 2);
  await running(plane, there);
  expect(await plane.store.nodes.get('n2')).toMatchObject({ group: 'batch', state: 'READY', move: null });
  expect((await plane.session(here)).kernels[0]?.node).toBe('n1');
  expect([...other.running.keys()]).toEqual((await plane.session(there)).kernels.map(({ id }) => id));
}, 60_000);
