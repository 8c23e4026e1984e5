import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { ChaosCase } from '../support/chaos-case.js';
import { engineOf } from '../support/engine-of.js';
import { ask, claim, engineContainers, is, served, stream } from '../support/models.js';
import { full, onPool, wakingA } from '../support/on-pool.js';

export const modelCases: readonly ChaosCase[] = [
  onPool('the node agent is killed while an engine starts', async (berth) => {
    await claim(berth, 'a', { knobs: { 'start-seconds': '2' } });
    await is(berth, 'a', 'STARTING');
    await pause(700);
    await berth.kill('node');
    await served(berth, 'a');
    expect(await engineContainers(berth)).toHaveLength(1);
    await berth.back('node');
  }),
  onPool('the node agent is killed while a model sleeps, and it is woken meanwhile', async (berth) => {
    await full(berth);
    await berth.kill('node');
    expect(await ask(berth, 'a')).toMatchObject({ status: 503 });
    await served(berth, 'a');
    await berth.back('node');
  }),
  onPool('the node agent is killed while a model wakes', async (berth) => {
    await full(berth);
    await wakingA(berth);
    await berth.kill('node');
    await served(berth, 'a');
    await berth.back('node');
  }),
  onPool(
    'the control worker is killed between the plan and its limits, and again while a model wakes',
    async (berth) => {
      await claim(berth, 'a');
      await is(berth, 'a', 'ACTIVE');
      await claim(berth, 'b');
      await berth.kill('control-1');
      await is(berth, 'b', 'ACTIVE');
      await berth.back('control-1');
      await berth.client.models.sleep('a');
      await is(berth, 'a', 'SLEEPING');
      await wakingA(berth);
      await berth.kill('control-1');
      await served(berth, 'a');
      await berth.back('control-1');
    },
  ),
  onPool('the gateway is killed during a stream: its client is cut off, the next is served', async (berth) => {
    await claim(berth, 'a');
    await served(berth, 'a');
    const { over } = await stream(berth, 'a');
    await berth.kill('gateway');
    expect(await over).not.toBe('complete');
    await served(berth, 'a');
    await berth.back('gateway');
  }),
  onPool('an engine is killed: it is started again, and its neighbour serves on', async (berth) => {
    const { id } = await claim(berth, 'a');
    await claim(berth, 'b');
    await served(berth, 'a');
    await served(berth, 'b');
    const neighbour = await stream(berth, 'b');
    const [instance] = (await berth.client.models.get(id)).instances;
    const [container] = await engineContainers(berth, instance?.id);
    await engineOf(berth).kill(container?.name ?? '');
    await pause(500);
    await served(berth, 'a');
    neighbour.stop();
    expect((await berth.client.models.get('b')).instances[0]?.restarts).toBe(0);
  }),
];
