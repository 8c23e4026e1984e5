import type { PoolPlan, PoolSnapshot } from '../../src/contract/index.js';
import { poolDetails } from '../../src/lifecycle/model-details.js';
import { planPool } from '../../src/models/plan-pool.js';
import type { OpenTurn } from '../../src/store/model-store.js';
import type { ControlDependencies } from './dependencies.js';
import type { PoolTurn } from './model-activities.js';
import { signalModels } from './signal-models.js';

/** Another planner of the pool is at work, as after a worker that was lost: its turn will have seen what this one was kicked for. */
const LOCK_WAIT_MS = 5_000;
/** A turn's result is a part of a history: the rest of the members is written in the next turn. */
const MEMBERS_MAX = 100;

const NOTHING = { turn: 0, limits: [], membersDue: false, more: false, isAtRest: true, nextLookMs: null };

/**
 * One turn: what became of the members, snapshot, plan, commit, signals. A turn killed anywhere leaves rows whose orders the
 * next one finds, and whose signals the sweeper sends; run again it plans from what stands then.
 */
export async function poolTurn(dependencies: ControlDependencies, pool: string): Promise<PoolTurn> {
  const { models } = dependencies.store;
  const work = await models.memberWork(pool);
  if (work.outcome !== 'lives') return { ...NOTHING, outcome: 'ended', details: `Pool **${pool}** was removed` };
  const open = await models.openTurn(pool, LOCK_WAIT_MS);
  if (open === 'missing') return { ...NOTHING, outcome: 'ended', details: `Pool **${pool}** was removed` };
  if (open === null) return { ...NOTHING, outcome: 'busy', details: `Another planner has pool **${pool}**` };
  const { plan, committed } = await planAndCommit(open, dependencies).finally(() => open.close());
  await signalModels(dependencies, committed.claims);
  dependencies.count('pool_turns');
  const { snapshot, nowMs } = open;
  return {
    outcome: 'planned',
    turn: nowMs,
    limits: committed.limits.slice(0, MEMBERS_MAX),
    membersDue: work.submit.length + work.stop.length > 0,
    more: committed.limits.length > MEMBERS_MAX,
    isAtRest: committed.limits.length === 0 && isAtRest(snapshot, plan),
    nextLookMs: plan.nextLookMs === null ? null : Math.max(0, plan.nextLookMs - nowMs),
    details: poolDetails(snapshot, plan, committed.details),
  };
}

async function planAndCommit(open: OpenTurn, { sealApiKey }: Pick<ControlDependencies, 'sealApiKey'>) {
  const plan = planPool(open.snapshot, open.nowMs);
  return { plan, committed: await open.commit(plan, sealApiKey) };
}

const isAtRest = ({ instances, claims }: PoolSnapshot, { places, orders, holds }: PoolPlan): boolean =>
  places.length + orders.length + holds.length === 0 &&
  instances.every(({ order, limitBytes, plannedBytes }) => order === null && limitBytes === plannedBytes) &&
  claims.every(({ wakeAskedMs }) => wakeAskedMs === null);
