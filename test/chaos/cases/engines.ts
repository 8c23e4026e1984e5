import { expect } from 'vitest';
import type { Berth } from '../support/berth.js';
import { type ChaosCase, IS_WHOLE } from '../support/chaos-case.js';
import { containerEnds, containerIdOf } from '../support/engine-of.js';
import { ended, failedWith, outcome, pause, running, STOPPED, SUCCESS, submit } from '../support/sessions.js';

/** One runs, one waits for what it holds, one is on its way. */
async function postgresEnds(berth: Berth, name: 'SIGKILL' | 'SIGTERM' | 'SIGINT'): Promise<void> {
  const holder = await submit(berth, { run: 'sleep 4; exit 3', gpus: 4 });
  await running(berth, holder);
  const waiter = await submit(berth, { run: 'exit 4', gpus: 4 });
  const starter = await submit(berth, { run: 'exit 5' });
  await berth.kill('postgres', name);
  expect(outcome(await ended(berth, holder))).toEqual(failedWith(3));
  expect(outcome(await ended(berth, starter))).toEqual(failedWith(5));
  expect(outcome(await ended(berth, waiter))).toEqual(failedWith(4));
  await berth.back('postgres');
}

const POSTGRES = [
  { name: 'SIGKILL', how: 'killed' },
  { name: 'SIGTERM', how: 'told to end when its clients have left' },
  { name: 'SIGINT', how: 'stopped' },
] as const;

const AWAY_SECONDS = IS_WHOLE ? 120 : 20;

/** Looks each second; what is returned ends it, with all that it saw. */
function watchNode(berth: Berth): () => Promise<readonly string[]> {
  const seen = new Set<string>();
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      seen.add((await berth.client.nodes.get(berth.node)).state);
      await pause(1);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return [...seen];
  };
}

async function temporalAway(berth: Berth): Promise<void> {
  const long = await submit(berth, { run: 'sleep 600', gpus: 2 });
  const short = await submit(berth, { run: 'sleep 5; exit 6', gpus: 2 });
  await running(berth, long);
  await running(berth, short);
  const container = await containerIdOf(berth, long.id);
  const seen = watchNode(berth);
  const goOn = berth.freezeSupervisor();
  await berth.kill('temporal');
  const meanwhile = await submit(berth, { run: 'exit 0', gpus: 1 });
  expect(meanwhile.state).toBe('SUBMITTED');
  await containerEnds(berth, short.id);
  await pause(AWAY_SECONDS);
  expect((await berth.client.sessions.get(meanwhile.id)).state).toBe('SUBMITTED');
  goOn();
  expect(outcome(await ended(berth, meanwhile))).toEqual(SUCCESS);
  expect(outcome(await ended(berth, short))).toEqual(failedWith(6));
  await berth.back('temporal');
  expect((await berth.client.sessions.get(long.id)).state).toBe('RUNNING');
  expect(await containerIdOf(berth, long.id)).toBe(container);
  await berth.client.sessions.stop(long.id);
  expect(await ended(berth, long)).toMatchObject(STOPPED);
  expect(await seen()).toEqual(['READY']);
}

export const engineCases: readonly ChaosCase[] = [
  ...POSTGRES.map(
    ({ name, how }): ChaosCase => ({
      title: `Postgres is ${how} (${name}) while one session runs, one waits and one starts`,
      seconds: 30,
      run: (berth) => postgresEnds(berth, name),
    }),
  ),
  {
    title: `Temporal is killed and away for ${AWAY_SECONDS} s: the node stays READY, containers go on, submissions wait`,
    seconds: 50,
    run: temporalAway,
  },
];
