import { usageError } from '../cli-error.js';
import { formatCpu } from '../format-amounts.js';
import type { DemoOptions } from './demo-options.js';
import { cpusInUse, endedBy, expectsStart, isState, waitsBehind, waitsForReservation } from './expectations.js';
import type { People } from './people.js';
import { type Play, perform, RUNS_UNTIL_STOPPED } from './play.js';
import type { Stage } from './stage.js';
import { withPolicy } from './with-policy.js';

const PROJECT = 'demo-backfill';
const CPUS = 4000;
/** Long enough to look at everything while it runs. */
const CURRENT_SECONDS = 25;
const GRACE_SECONDS = 1;

/** Experiment 1 with `backfill: easy`: Bob may run ahead of Alice only when that does not move her start. */
export const demoBackfill = (options: DemoOptions): Promise<void> =>
  perform(options, {
    title: 'Experiment 1 with backfill: 4 CPU; current holds 2, Alice asks 4, then Bob asks 1.',
    persons: ['alice', 'bob', 'carol'].map((name) => ({ name, projects: [PROJECT] })),
    check: ({ cpuMilliCapacity }) => {
      if (cpuMilliCapacity === CPUS) return;
      throw usageError(
        `the experiment is on a node with 4 CPU; this one shares out ${formatCpu(cpuMilliCapacity)}`,
        'berth down, then berth up --cpus 4',
      );
    },
    act: (stage, people) => withPolicy(options, { backfill: 'easy' }, () => act(stage, askerOf(stage, people))),
  } satisfies Play);

type Ask = (
  label: string,
  user: string,
  how: { readonly cpus: number; readonly maxRuntimeSeconds?: number },
) => Promise<void>;

function askerOf(stage: Stage, { clients }: People): Ask {
  return async (label, user, { cpus, ...bounds }) => {
    const client = clients[user];
    if (client === undefined) throw new Error(`nobody is called ${user}`);
    const kernels = [{ slots: { cpuMilli: cpus * 1000, memoryBytes: 16 * 2 ** 20 } }];
    const spec = {
      project: PROJECT,
      command: RUNS_UNTIL_STOPPED,
      kernels,
      gracePeriodSeconds: GRACE_SECONDS,
      ...bounds,
    };
    await stage.submit({ label, client, spec });
  };
}

async function act(stage: Stage, ask: Ask): Promise<void> {
  await withoutBound(stage, ask);
  await stage.clearAll();
  await withBounds(stage, ask);
}

/** Nobody knows when current ends, so nobody may pass Alice. */
async function withoutBound(stage: Stage, ask: Ask): Promise<void> {
  await ask('current', 'carol', { cpus: 2 });
  await stage.until('current runs, and nothing says for how long', [isState('current', 'RUNNING'), cpusInUse(2000)]);
  await ask('alice', 'alice', { cpus: 4 });
  await stage.until('alice asks for 4 CPU: her start has no bound', [
    isState('alice', 'PENDING'),
    expectsStart('alice', false),
  ]);
  await ask('bob', 'bob', { cpus: 1, maxRuntimeSeconds: 5 });
  await stage.until('bob asks 1 for 5 s: he may not pass her', [waitsBehind('bob', 'alice'), cpusInUse(2000)]);
}

/** Current ends at a known time: who is gone by then may pass, and nobody else. */
async function withBounds(stage: Stage, ask: Ask): Promise<void> {
  await ask('current', 'carol', { cpus: 2, maxRuntimeSeconds: CURRENT_SECONDS });
  await stage.until(`current runs for ${CURRENT_SECONDS} s at most`, [isState('current', 'RUNNING'), cpusInUse(2000)]);
  await ask('alice', 'alice', { cpus: 4 });
  await stage.until('alice asks for 4 CPU: her start is known', [
    isState('alice', 'PENDING'),
    expectsStart('alice', true),
  ]);
  await ask('endless', 'bob', { cpus: 1 });
  await ask('long', 'bob', { cpus: 1, maxRuntimeSeconds: 600 });
  await stage.until('bob asks 1 without a bound, and 1 for 10 min: both would delay her', [
    waitsForReservation('endless', 'alice'),
    waitsForReservation('long', 'alice'),
    cpusInUse(2000),
  ]);
  await ask('bob', 'bob', { cpus: 1, maxRuntimeSeconds: 5 });
  const ahead = await stage.until('bob asks 1 for 5 s: he runs at once, ahead of alice', [
    isState('bob', 'RUNNING'),
    isState('alice', 'PENDING'),
    expectsStart('alice', true),
    cpusInUse(3000),
  ]);
  const promised = ahead.sessions['alice']?.expectedStart ?? '';
  const ran = await stage.until('current and bob end at their maximum runtime, and alice runs', [
    endedByMaxRuntime('bob'),
    endedByMaxRuntime('current'),
    isState('alice', 'RUNNING'),
    cpusInUse(4000),
  ]);
  stage.note('alice', { promised, placed: ran.sessions['alice']?.placedAt });
}

const endedByMaxRuntime = (label: string) => endedBy(label, 'max-runtime', 'TERMINATED');
