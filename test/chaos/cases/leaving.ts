import { expect } from 'vitest';
import type { Session } from '../../../src/contract/index.js';
import { testRegistry } from '../../docker/registry.js';
import { eventually } from '../../support/process.js';
import type { Berth, Part } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { ended, failedWith, outcome, path, reaches, running, STOPPED, submit } from '../support/sessions.js';

const PARTS: readonly { readonly part: Part; readonly name: string }[] = [
  { part: 'control-1', name: 'control worker' },
  { part: 'node', name: 'node agent' },
  { part: 'api', name: 'API' },
];

/** Takes two seconds to leave when it is told, of the five that it is given. */
const LEAVES_SLOWLY = {
  run: 'trap "sleep 2; exit 9" TERM; while :; do sleep 0.2; done',
  gpus: 4,
  gracePeriodSeconds: 5,
  priority: 1,
} as const;

const runsAs = (berth: Berth, { id }: Session, attempt: number): Promise<void> =>
  eventually(
    `${id} runs as attempt ${attempt}`,
    async () => {
      const found = await berth.client.sessions.get(id);
      return found.state === 'RUNNING' && found.attempt === attempt;
    },
    120,
  );

/** It left once, ran again, and ends when its user says so. */
async function ranTwice(berth: Berth, session: Session): Promise<void> {
  await runsAs(berth, session, 2);
  await berth.client.sessions.stop(session.id);
  expect(await ended(berth, session)).toMatchObject({ ...STOPPED, attempt: 2 });
  const states = await path(berth, session);
  expect(states.filter((state) => state === 'PREEMPTING')).toHaveLength(1);
}

async function killedAtPreemption(berth: Berth, part: Part): Promise<void> {
  const allow = (enabled: boolean) => berth.client.groups.patch('default', { policy: { preemption: { enabled } } });
  await allow(true);
  try {
    const low = await submit(berth, LEAVES_SLOWLY);
    await running(berth, low);
    const high = await submit(berth, { run: 'exit 3', gpus: 4, priority: 50 });
    await reaches(berth, low, 'PREEMPTING');
    await berth.kill(part);
    expect(outcome(await ended(berth, high))).toEqual(failedWith(3));
    await ranTwice(berth, low);
    await berth.back(part);
  } finally {
    await allow(false);
  }
}

async function killedAtDrain(berth: Berth, part: Part): Promise<void> {
  const session = await submit(berth, LEAVES_SLOWLY);
  await running(berth, session);
  await berth.client.nodes.drain(berth.node, { reason: 'chaos' });
  try {
    await reaches(berth, session, 'PREEMPTING');
    await berth.kill(part);
    const isDrained = async () => (await berth.client.nodes.get(berth.node)).state === 'DRAINED';
    await eventually('the node is drained', isDrained, 120);
    expect((await berth.client.sessions.get(session.id)).state).toBe('PENDING');
  } finally {
    await berth.client.nodes.uncordon(berth.node);
  }
  await ranTwice(berth, session);
  await berth.back(part);
}

/** Nobody listens where its image should come from: the platform's failure, tried twice. */
async function killedAtBackOff(berth: Berth, part: Part): Promise<void> {
  const registry = await testRegistry({ login: false });
  await registry.close();
  const retry = { maxAttempts: 2, backoffSeconds: 6, maxBackoffSeconds: 6 };
  const session = await submit(berth, { run: '', image: `${registry.repository}:1`, gpus: 1, retry });
  await reaches(berth, session, 'TERMINATING');
  const backsOff = async () => (await berth.client.sessions.get(session.id)).reason === 'backoff';
  await eventually('it backs off', backsOff, 60);
  await berth.kill(part);
  expect(await ended(berth, session)).toMatchObject({ state: 'ERROR', cause: 'pull-failed', attempt: 2 });
  await berth.back(part);
}

export const leavingCases: readonly ChaosCase[] = PARTS.flatMap(({ part, name }) => [
  {
    title: `the ${name} is killed while a session is PREEMPTING: it leaves once, and runs again after whom it left for`,
    seconds: 45,
    run: (berth: Berth) => killedAtPreemption(berth, part),
  },
  {
    title: `the ${name} is killed while a node drains: it is drained all the same, and its session runs again`,
    seconds: 45,
    run: (berth: Berth) => killedAtDrain(berth, part),
  },
  {
    title: `the ${name} is killed while a session backs off after a failure of the platform: it is tried again, once`,
    seconds: 35,
    run: (berth: Berth) => killedAtBackOff(berth, part),
  },
]);
