import { expect } from 'vitest';
import type { Berth } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { ended, outcome, pause, reaches, running, SUCCESS, submit } from '../support/sessions.js';

const PLATFORM = { state: 'ERROR', result: 'platform-failure', cause: 'engine-failed' } as const;

async function engineRestarts(berth: Berth, name: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const { engine } = berth;
  if (engine === undefined) throw new Error('this case needs an engine of its own');
  const runs = await submit(berth, { run: 'sleep 600', gpus: 3 });
  await running(berth, runs);
  const waits = await submit(berth, { run: 'exit 0', gpus: 4 });
  await reaches(berth, waits, 'PENDING');
  await engine.halt(name);
  await pause(3);
  await engine.start();
  expect(await ended(berth, runs)).toMatchObject(PLATFORM);
  expect(outcome(await ended(berth, waits))).toEqual(SUCCESS);
}

/** A start that meets an engine that is away waits for it: it is no fault of the request. */
async function startsMeanwhile(berth: Berth): Promise<void> {
  const { engine } = berth;
  if (engine === undefined) throw new Error('this case needs an engine of its own');
  await engine.halt('SIGTERM');
  const session = await submit(berth, { run: 'exit 0', gpus: 4 });
  await reaches(berth, session, 'PREPARING');
  await pause(2);
  await engine.start();
  expect(outcome(await ended(berth, session))).toEqual(SUCCESS);
}

export const dockerCases: readonly ChaosCase[] = [
  {
    title: 'Docker is stopped and started: what died with it ends as engine-failed, and the next one starts',
    seconds: 40,
    stage: 'private',
    run: (berth) => engineRestarts(berth, 'SIGTERM'),
  },
  {
    title: 'Docker is killed and started: what died with it ends as engine-failed, and the next one starts',
    seconds: 40,
    stage: 'private',
    run: (berth) => engineRestarts(berth, 'SIGKILL'),
  },
  {
    title: 'Docker is away when a session starts: it starts once Docker is back',
    seconds: 30,
    stage: 'private',
    run: startsMeanwhile,
  },
];
