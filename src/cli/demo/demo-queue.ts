import { usageError } from '../cli-error.js';
import { formatCpu } from '../format-amounts.js';
import type { DemoOptions } from './demo-options.js';
import { cpusInUse, isState, waitsBehind, waitsForCapacity } from './expectations.js';
import type { People } from './people.js';
import { type Play, perform, RUNS_UNTIL_STOPPED } from './play.js';
import type { Actor, Stage } from './stage.js';

const PROJECT = 'demo-queue';
const CPUS = 4000;

/** Experiment 1 of the sessions page: 4 CPU; one runs with 2, Alice asks 4, then Bob 1. No backfill. */
export const demoQueue = (options: DemoOptions): Promise<void> => perform(options, PLAY);

const PLAY: Play = {
  title: 'Experiment 1, the queue: 4 CPU; current holds 2, Alice asks 4, then Bob asks 1.',
  persons: ['alice', 'bob', 'carol'].map((name) => ({ name, projects: [PROJECT] })),
  check: ({ cpuMilliCapacity }) => {
    if (cpuMilliCapacity === CPUS) return;
    throw usageError(
      `the experiment is on a node with 4 CPU; this one shares out ${formatCpu(cpuMilliCapacity)}`,
      'berth down, then berth up --cpus 4',
    );
  },
  act,
};

async function act(stage: Stage, { clients }: People): Promise<void> {
  const actor = (label: string, user: string, cpuMilli: number): Actor => {
    const client = clients[user];
    if (client === undefined) throw new Error(`nobody is called ${user}`);
    const kernels = [{ slots: { cpuMilli, memoryBytes: 16 * 2 ** 20 } }];
    return { label, client, spec: { project: PROJECT, command: RUNS_UNTIL_STOPPED, kernels } };
  };
  await stage.submit(actor('current', 'carol', 2000));
  await stage.until('current asks for 2 CPU', [isState('current', 'RUNNING'), cpusInUse(2000)]);

  await stage.submit(actor('alice', 'alice', 4000));
  await stage.until('alice asks for 4 CPU', [waitsForCapacity('alice', { resource: 'cpuMilli', more: 2000 })]);

  await stage.submit(actor('bob', 'bob', 1000));
  await stage.until('bob asks for 1 CPU: it is free, and he is behind alice', [
    waitsForCapacity('alice', { resource: 'cpuMilli', more: 2000 }),
    waitsBehind('bob', 'alice'),
    isState('current', 'RUNNING'),
    cpusInUse(2000),
  ]);

  await stage.end('current');
  await stage.until('current ends: alice runs, bob waits', [
    isState('current', 'TERMINATED'),
    isState('alice', 'RUNNING'),
    waitsForCapacity('bob', { resource: 'cpuMilli', more: 1000 }),
    cpusInUse(4000),
  ]);

  await stage.end('alice');
  await stage.until('alice ends: bob runs', [
    isState('alice', 'TERMINATED'),
    isState('bob', 'RUNNING'),
    cpusInUse(1000),
  ]);
}
