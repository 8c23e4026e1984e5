import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { eventually } from '../../support/process.js';
import type { Berth } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { ask, claim, engineContainers, is, served, sound, stream } from '../support/models.js';
import { full, onPool, wakingA } from '../support/on-pool.js';

/** Requests for a, one after another, for so long; the statuses of those that were answered. */
async function statusesOf(berth: Berth, seconds: number): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (const until = performance.now() + seconds * 1000; performance.now() < until; await pause(150))
    statuses.push((await ask(berth, 'a')).status);
  return statuses;
}

/** Past the 40 s after which nobody hears it, and the 5 s in which others may fall silent with it. */
const LOST_SECONDS = 75;

export const modelOutageCases: readonly ChaosCase[] = [
  onPool('Postgres is away while requests go: they are served', async (berth) => {
    await claim(berth, 'a');
    await served(berth, 'a');
    const goOn = berth.freezeSupervisor();
    await berth.kill('postgres');
    const statuses = await statusesOf(berth, 5);
    goOn();
    await berth.back('postgres');
    expect(new Set(statuses)).toEqual(new Set([200]));
    await served(berth, 'a');
  }),
  onPool('Temporal is away when a request asks for a wake: it is met once it is back', async (berth) => {
    await full(berth);
    const goOn = berth.freezeSupervisor();
    await berth.kill('temporal');
    expect(await ask(berth, 'a')).toMatchObject({ status: 503 });
    await pause(2_000);
    goOn();
    await is(berth, 'a', 'ACTIVE');
    await berth.back('temporal');
    await served(berth, 'a');
  }),
  onPool(
    'an engine that ends at each start has failed, and says so',
    async (berth) => {
      await claim(berth, 'a', { knobs: { 'crash-at-start': '1000', 'start-seconds': '0.1' } });
      const failed = async () => {
        const { phase, reason } = await berth.client.models.get('a');
        return phase === 'FAILED' && reason?.code === 'EngineFailed' && reason.message !== '';
      };
      // 2, 4, 8, 16 and 32 s before its starts
      await eventually('it has failed, and says why', failed, 150);
      expect(await ask(berth, 'a')).toMatchObject({ status: 503, code: 'EngineFailed' });
    },
    90,
  ),
  onPool(
    'two wakes and a new claim at once on a full GPU',
    async (berth) => {
      await full(berth);
      await berth.client.models.sleep('b');
      await is(berth, 'b', 'SLEEPING');
      await Promise.all([ask(berth, 'a'), ask(berth, 'b'), claim(berth, 'd')]);
      await served(berth, 'a');
      await served(berth, 'b');
      await sound(berth);
      await is(berth, 'd', 'ACTIVE');
    },
    90,
  ),
  onPool('claims end while they start, while they wake, and sleep is asked for during a stream', async (berth) => {
    await full(berth);
    const { over, stop } = await stream(berth, 'b');
    await berth.client.models.sleep('b');
    await wakingA(berth);
    await berth.client.models.remove('a');
    await claim(berth, 'd', { knobs: { 'start-seconds': '2' } });
    await berth.client.models.remove('d');
    expect(await Promise.race([over, pause(2_000, 'goes on')])).toBe('goes on');
    await is(berth, 'b', 'ACTIVE');
    stop();
  }),
  onPool(
    'the node is lost: its engines leave the route, and are back when it is heard',
    async (berth) => {
      await claim(berth, 'a');
      await served(berth, 'a');
      const [before] = await engineContainers(berth);
      const goOn = berth.freezeSupervisor();
      await berth.kill('node');
      const deadline = performance.now() + LOST_SECONDS * 1000;
      let last = await ask(berth, 'a');
      for (; last.status === 200 && performance.now() < deadline; await pause(500)) last = await ask(berth, 'a');
      expect(last).toMatchObject({ status: 503, code: 'EngineFailed', retryAfter: '10' });
      expect((await berth.client.nodes.get(berth.node)).state).toBe('LOST');
      goOn();
      await berth.back('node');
      await served(berth, 'a');
      expect((await engineContainers(berth))[0]?.id).toBe(before?.id);
    },
    120,
  ),
];
