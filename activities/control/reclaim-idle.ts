import type { SessionId } from '../../src/contract/index.js';
import { idleDecision } from '../../src/scheduler/idle.js';
import type { ControlDependencies } from './dependencies.js';
import { deliver } from './kick.js';

const PAGE = 500;

export interface IdleRound {
  readonly looked: number;
  readonly warned: number;
  readonly ended: number;
}

/**
 * One look at every running session under an idle policy: decided purely, written conditionally. An end is a stop on its row,
 * so its signal is sent again until its workflow has taken it. Run again at any time: a warning is given once.
 */
export async function reclaimIdle(
  dependencies: Pick<ControlDependencies, 'store' | 'door' | 'log' | 'count'>,
): Promise<IdleRound> {
  const { usage } = dependencies.store;
  await usage.forgetIdle();
  const round = { looked: 0, warned: 0, ended: 0 };
  for (let after: SessionId | null = null; ; ) {
    const { nowMs, candidates } = await usage.idleCandidates(after, PAGE);
    const orders = candidates.map((candidate) => ({ candidate, ...idleDecision(candidate, nowMs) }));
    const signals = orders.length === 0 ? [] : await usage.settleIdle(orders);
    await deliver(dependencies, signals);
    round.looked += candidates.length;
    round.warned += orders.filter(({ step }) => step === 'warn').length;
    round.ended += signals.length;
    after = candidates.at(-1)?.sessionId ?? null;
    if (candidates.length < PAGE || after === null) break;
  }
  dependencies.count('idle_warned', round.warned);
  dependencies.count('idle_reclaimed', round.ended);
  return round;
}
