import { join } from 'node:path';
import { expect } from 'vitest';
import { packageRoot } from '../../../src/cli/supervisor/programs.js';
import { endChild, eventually, spawnTied } from '../../support/process.js';
import type { Berth } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { ended, failedWith, outcome, pause, submit } from '../support/sessions.js';

const SESSIONS = 20;

/** `npm run worker:control`, without npm. */
async function addControlWorker(berth: Berth) {
  const script = join(packageRoot(), 'infra', 'start-worker.mjs');
  const child = spawnTied(process.execPath, [script, 'control'], {
    env: { ...berth.env, BERTH_STATE: berth.state.root },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (output += data.toString()));
  await eventually(
    'the further control worker polls',
    () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${output}`);
      return output.includes('"state":"RUNNING"');
    },
    90,
  );
  return child;
}

/** One joins, the first one is told to end and comes back, then the one that joined leaves. */
async function changeWorkers(berth: Berth): Promise<void> {
  const sessions = Promise.all(
    Array.from({ length: SESSIONS }, async (_, index) => {
      await pause(index / 2);
      return submit(berth, { run: `sleep 1; exit ${index + 1}`, gpus: index % 3 });
    }),
  );
  const added = await addControlWorker(berth);
  await berth.kill('control-1', 'SIGTERM');
  await berth.back('control-1');
  await endChild(added, 'SIGTERM');
  expect(added.exitCode).toBe(0);
  for (const [index, session] of (await sessions).entries()) {
    expect(outcome(await ended(berth, session))).toEqual(failedWith(index + 1));
  }
}

export const workersUnderLoadCases: readonly ChaosCase[] = [
  {
    title: `one control worker joins and two are told to end under a load of ${SESSIONS} sessions: none is lost`,
    seconds: 60,
    run: changeWorkers,
  },
];
