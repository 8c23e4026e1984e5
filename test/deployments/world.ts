import { NO_FAILURES } from '../../src/deployments/back-off.js';
import { type DeploymentPlan, planDeployment } from '../../src/deployments/plan-deployment.js';
import { isLive, serves } from '../../src/deployments/replica.js';
import type { Rollout, Strategy } from '../../src/deployments/rollout.js';
import type { DeploymentSnapshot, ReplicaRow } from '../../src/deployments/turn-types.js';

/** What replicas of a revision do: serve after a while, crash after a while (each time healthy before), or never serve. */
export type Kind = 'good' | 'crashes' | 'never';

export const ROLLING: Strategy = { kind: 'rolling', surge: { percent: 25 }, unavailable: { count: 0 } };
const TICK_MS = 1_000;
const DRAIN_MS = 3_000;
const STARTS_AFTER_MS = 2_000;
const CRASHES_AFTER_MS = 4_000;

export const snapshotOf = (change: Partial<DeploymentSnapshot> = {}): DeploymentSnapshot => ({
  id: 'dep_1',
  name: 'chat',
  wanted: 2,
  isEnding: false,
  current: 1,
  rollout: null,
  rolloutTimeoutMs: 600_000,
  autoscale: null,
  lastFiredMs: {},
  metrics: {},
  prometheus: [],
  lastDecision: null,
  lastRequestMs: null,
  wakeAskedMs: null,
  replicas: [],
  failures: {},
  drainMs: { 1: DRAIN_MS, 2: DRAIN_MS, 3: DRAIN_MS },
  nowMs: 1_000_000,
  ...change,
});

export const rolloutTo = (target: number, change: Partial<Rollout> = {}): Rollout => ({
  from: 1,
  target,
  strategy: ROLLING,
  step: 0,
  readySinceMs: null,
  served: 0,
  progressMs: 1_000_000,
  promoted: false,
  paused: false,
  ...change,
});

/** One that serves since long; `change` makes it another one. */
export const row = (id: string, change: Partial<ReplicaRow> = {}): ReplicaRow => ({
  id: id as ReplicaRow['id'],
  revision: 1,
  createdMs: 0,
  startedMs: 0,
  servingMs: 0,
  route: 'ACTIVE',
  health: 'healthy',
  isRefused: false,
  drainingMs: null,
  inFlight: 0,
  isDrained: false,
  node: 'n1',
  sessionState: 'RUNNING',
  fault: null,
  message: null,
  ...change,
});
export const waiting = { startedMs: null, servingMs: null, route: 'PROVISIONING', health: 'unknown' } as const;
export const dead = (fault: 'own' | 'platform' | 'asked' = 'own') =>
  ({ health: 'unhealthy', fault, message: 'it exited with 1' }) as const;

let made = 0;

/** What the ledger is after a turn, at the same moment. */
export function after(snapshot: DeploymentSnapshot, { turn }: DeploymentPlan): DeploymentSnapshot {
  const { nowMs } = snapshot;
  const drained = new Set<string>(turn.drain.map(({ id }) => id));
  const stopped = new Set<string>(turn.stop);
  const kept = snapshot.replicas
    .filter(({ route }) => route !== 'ENDED')
    .map((replica): ReplicaRow => {
      const drains = drained.has(replica.id) ? ({ route: 'DRAINING', drainingMs: nowMs } as const) : {};
      return { ...replica, ...drains, ...(stopped.has(replica.id) ? { sessionState: 'TERMINATING' } : {}) };
    });
  const fresh = turn.create.flatMap(({ revision, count }) =>
    Array.from({ length: count }, () =>
      row(`ses-${(made += 1)}`, { ...waiting, revision, createdMs: nowMs, sessionState: 'PENDING', node: null }),
    ),
  );
  const good = turn.verdict?.kind === 'done' ? snapshot.rollout?.target : snapshot.rollout?.from;
  return {
    ...snapshot,
    wanted: turn.wanted,
    rollout: turn.rollout,
    current: turn.verdict === null ? snapshot.current : (good ?? snapshot.current),
    failures: turn.failures,
    lastFiredMs: turn.fired === null ? snapshot.lastFiredMs : { ...snapshot.lastFiredMs, [turn.fired]: nowMs },
    lastDecision: turn.decision ?? snapshot.lastDecision,
    wakeAskedMs: turn.clearWake ? null : snapshot.wakeAskedMs,
    replicas: [...kept, ...fresh],
  };
}

/** A second passes: replicas start, serve, crash and end as their revision does. */
export function tick(snapshot: DeploymentSnapshot, kindOf: (revision: number) => Kind): DeploymentSnapshot {
  const nowMs = snapshot.nowMs + TICK_MS;
  const replicas = snapshot.replicas.map((replica): ReplicaRow => {
    if (replica.sessionState === 'TERMINATING')
      return { ...replica, route: 'ENDED', sessionState: 'TERMINATED', fault: 'asked' };
    if (replica.route === 'DRAINING')
      return { ...replica, isDrained: nowMs - (replica.drainingMs ?? nowMs) >= DRAIN_MS / 2 };
    if (!isLive(replica) || replica.health === 'unhealthy') return replica;
    const age = nowMs - replica.createdMs;
    const kind = kindOf(replica.revision);
    if (kind === 'crashes' && age >= CRASHES_AFTER_MS) return { ...replica, ...dead() };
    if (replica.servingMs !== null || age < STARTS_AFTER_MS) return replica;
    const started = { ...replica, sessionState: 'RUNNING', node: 'n1', startedMs: replica.startedMs ?? nowMs };
    if (kind === 'never') return { ...started, route: 'WARMING' };
    return { ...started, route: 'ACTIVE', health: 'healthy', servingMs: nowMs };
  });
  return { ...snapshot, replicas, nowMs };
}

export const servingOf = ({ replicas }: DeploymentSnapshot): readonly ReplicaRow[] => replicas.filter(serves);
export const liveOf = ({ replicas }: DeploymentSnapshot): readonly ReplicaRow[] => replicas.filter(isLive);
export const plan = (change: Partial<DeploymentSnapshot>) => planDeployment(snapshotOf(change));
export const rowOf = (failures: DeploymentSnapshot['failures'], revision: number) => failures[revision] ?? NO_FAILURES;
