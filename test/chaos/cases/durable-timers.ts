import { expect } from 'vitest';
import type { Session } from '../../../src/contract/index.js';
import { testRegistry } from '../../docker/registry.js';
import type { Berth } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { ended, outcome, pause, reaches, submit, type Wanted } from '../support/sessions.js';

const FOR_EVER = 'sleep 600';
/** Early: the worker is back before it is due. Late: it comes back after it was due. */
const DUE_SECONDS = { early: 15, late: 4 } as const;
type When = keyof typeof DUE_SECONDS;

interface Timer {
  readonly name: string;
  /** The state in which it runs. */
  readonly state: string;
  readonly wanted: (dueSeconds: number, image: string) => Wanted;
  readonly end: Partial<Session>;
}

const TIMERS: readonly Timer[] = [
  {
    name: 'health deadline',
    state: 'RUNNING',
    wanted: (initialDelaySeconds) => ({ run: FOR_EVER, healthCheck: { port: 8080, initialDelaySeconds } }),
    end: { state: 'TERMINATED', result: 'failure', cause: 'health-check' },
  },
  {
    name: 'maximum runtime',
    state: 'RUNNING',
    wanted: (maxRuntimeSeconds) => ({ run: FOR_EVER, maxRuntimeSeconds }),
    end: { state: 'TERMINATED', result: 'failure', cause: 'max-runtime' },
  },
  {
    name: 'start deadline',
    state: 'PREPARING',
    wanted: (startDeadlineSeconds, image) => ({ run: FOR_EVER, image, startDeadlineSeconds }),
    end: { state: 'ERROR', result: 'platform-failure', cause: 'start-deadline' },
  },
];

async function killedAcross(berth: Berth, timer: Timer, when: When): Promise<void> {
  const registry = await testRegistry({ login: false });
  registry.flow(false); // the pull never ends
  try {
    const dueSeconds = DUE_SECONDS[when];
    const session = await submit(berth, { ...timer.wanted(dueSeconds, `${registry.repository}:1`), gpus: 1 });
    await reaches(berth, session, timer.state);
    const goOn = when === 'late' ? berth.freezeSupervisor() : () => undefined;
    await berth.kill('control-1');
    if (when === 'late') await pause(dueSeconds + 1);
    goOn();
    await berth.back('control-1');
    const found = await ended(berth, session);
    expect(outcome(found)).toMatchObject(timer.end);
    const begin = Date.parse(found.startedAt ?? found.placedAt ?? '');
    expect(Date.parse(found.endedAt ?? '') - begin).toBeGreaterThanOrEqual(dueSeconds * 1000 - 50);
  } finally {
    await registry.close();
  }
}

export const durableTimerCases: readonly ChaosCase[] = TIMERS.flatMap((timer) => [
  {
    title: `the ${timer.name} ends a session though the control worker was killed, and is back before it is due`,
    seconds: 35,
    run: (berth: Berth) => killedAcross(berth, timer, 'early'),
  },
  {
    title: `the ${timer.name} ends a session though the control worker was away when it was due`,
    seconds: 25,
    run: (berth: Berth) => killedAcross(berth, timer, 'late'),
  },
]);
