import { type Failures, NO_FAILURES, STEADY_MS } from './back-off.js';
import { type Correction, converge, type Wanted } from './converge.js';
import { countFailures } from './count-failures.js';
import { isLive, serves } from './replica.js';
import { type RolloutGround, type RolloutTurn, rolloutTurn } from './rollout.js';
import { idleAtMs, type MetricAnswer, scaleTurn } from './scale-turn.js';
import { steadyTurn } from './steady.js';
import { eventsOf } from './turn-events.js';
import type { DeploymentSnapshot, DeploymentTurn, ReplicaRow } from './turn-types.js';

/** A turn, and what its workflow has to know of it. */
export interface DeploymentPlan {
  readonly turn: DeploymentTurn;
  /** The next moment at which time alone changes something; null: none is known. */
  readonly nextMs: number | null;
  /** Nothing is under way, and no rule has to be looked at. */
  readonly isAtRest: boolean;
  /** Sessions are to be submitted or stopped. */
  readonly isWorkDue: boolean;
}

/** So long a replica serves before an old one leaves for it: a crash loop looks healthy at each of its starts. */
const PROVEN_MS = 10_000;
/** Where there is no old one to lose. */
const FIRST_PROVEN_MS = 2_000;

/**
 * All that one look at a deployment decides: the count, the rollout's step, who is made and who leaves, who is drained and may be
 * stopped. Concurrent changes of count and revision meet here, under one lock, so there is one truth. A second turn on what the
 * first one left, at the same moment, changes nothing.
 */
export function planDeployment(
  snapshot: DeploymentSnapshot,
  answers: ReadonlyMap<string, MetricAnswer> = new Map(),
): DeploymentPlan {
  const failures = countFailures(snapshot.failures, snapshot.replicas, snapshot.nowMs);
  const of = (revision: number): Failures => failures[revision] ?? NO_FAILURES;
  if (snapshot.isEnding) return finished(snapshot, ending(snapshot, failures));
  const scale = scaleTurn(snapshot, answers);
  const rolled = revisionsOf({ ...snapshot, wanted: scale.wanted }, of);
  const correction = converge(rolled.wanted, snapshot.replicas, { failures: of, nowMs: snapshot.nowMs });
  const { rollout } = snapshot;
  const goesOn = rollout !== null && rolled.verdict === 'goes-on';
  const turn: Omit<DeploymentTurn, 'events'> = {
    ...scale,
    rollout: goesOn ? { ...rollout, ...rolled.next } : null,
    verdict:
      rollout === null || rolled.verdict === 'goes-on' ? null : { kind: rolled.verdict, because: rolled.because },
    rolloutMessage: rollout === null ? '' : rolled.because,
    weights: rolled.weights,
    failures,
    create: correction.create,
    drain: correction.drain,
    stop: stopNow(snapshot, correction.drain),
    retryMs: correction.nextMs,
  };
  const events = eventsOf(snapshot, turn, correction.message);
  return finished(snapshot, { ...turn, events }, rolled.nextMs);
}

type Rolled = Pick<RolloutTurn, 'wanted' | 'weights' | 'nextMs' | 'verdict' | 'because'> & {
  readonly next?: RolloutTurn['next'];
};

function revisionsOf(snapshot: DeploymentSnapshot, failures: (revision: number) => Failures): Rolled {
  const { rollout, current, replicas, nowMs, wanted: count } = snapshot;
  const provenMs = (revision: number, hasOld: boolean) =>
    failures(revision).inARow > 0 ? STEADY_MS : hasOld ? PROVEN_MS : FIRST_PROVEN_MS;
  if (rollout === null) {
    const nothing = { wanted: [] as readonly Wanted[], weights: [], nextMs: null };
    const steady =
      current === null ? nothing : steadyTurn(current, { count, replicas, nowMs, provenMs: provenMs(current, true) });
    return { ...steady, verdict: 'goes-on', because: '' };
  }
  const { target } = rollout;
  const ground: RolloutGround = {
    ...{ count, replicas, nowMs, timeoutMs: snapshot.rolloutTimeoutMs },
    provenMs: provenMs(target, rollout.from !== null),
    targetFails: failures(target).inARow > 0,
    isGoingBack: target === current,
  };
  return rolloutTurn(rollout, ground);
}

function ending(snapshot: DeploymentSnapshot, failures: DeploymentTurn['failures']): DeploymentTurn {
  const { drain, message } = converge([], snapshot.replicas, { failures: () => NO_FAILURES, nowMs: snapshot.nowMs });
  const turn = {
    ...{ wanted: snapshot.wanted, decision: null, fired: null, clearWake: snapshot.wakeAskedMs !== null },
    ...{ rollout: null, verdict: null, rolloutMessage: '', weights: [], failures, create: [], drain, retryMs: null },
    stop: stopNow(snapshot, drain),
  };
  return { ...turn, events: eventsOf(snapshot, turn, message) };
}

const ENDING_STATES = ['TERMINATING', 'TERMINATED', 'CANCELLED', 'ERROR'];

/** Off the route and with nothing in flight, or for its whole grace; what never served has nothing in flight. */
function stopNow(
  { replicas, drainMs, nowMs }: DeploymentSnapshot,
  drained: Correction['drain'],
): DeploymentTurn['stop'] {
  const isDrainedNow = new Set(drained.map(({ id }) => id));
  const mayStop = (replica: ReplicaRow): boolean => {
    if (ENDING_STATES.includes(replica.sessionState)) return false;
    const graceMs = drainMs[replica.revision] ?? 0;
    if (isDrainedNow.has(replica.id)) return replica.servingMs === null || graceMs === 0;
    if (replica.route !== 'DRAINING' || replica.drainingMs === null) return false;
    return replica.servingMs === null || replica.isDrained || nowMs - replica.drainingMs >= graceMs;
  };
  return replicas.filter(mayStop).map(({ id }) => id);
}

/** When the grace of a replica that drains is over. */
const drainEnds = ({ replicas, drainMs, nowMs }: DeploymentSnapshot, { drain }: DeploymentTurn): readonly number[] => {
  const leaves = new Set(drain.map(({ id }) => id));
  return replicas.flatMap((replica) => {
    const sinceMs = leaves.has(replica.id) ? nowMs : replica.drainingMs;
    return sinceMs === null ? [] : [sinceMs + (drainMs[replica.revision] ?? 0)];
  });
};

function finished(snapshot: DeploymentSnapshot, turn: DeploymentTurn, rolledMs: number | null = null): DeploymentPlan {
  const { nowMs, replicas } = snapshot;
  const moments = [rolledMs, turn.retryMs, idleAtMs(snapshot), ...drainEnds(snapshot, turn)];
  const known = moments.filter((moment) => moment !== null && moment >= nowMs) as readonly number[];
  const isChanged = turn.create.length + turn.drain.length + turn.stop.length > 0;
  return {
    turn,
    nextMs: known.length === 0 ? null : Math.min(...known),
    isAtRest: !isChanged && isAtRest(snapshot, turn),
    isWorkDue: isChanged || replicas.some(({ sessionState, route }) => sessionState === '' && route !== 'ENDED'),
  };
}

/** Who waits in a queue is kicked for when it is placed. */
const isAtRest = ({ isEnding, autoscale, replicas, rollout }: DeploymentSnapshot, turn: DeploymentTurn): boolean =>
  !isEnding &&
  (autoscale === null || autoscale.rules.length + autoscale.schedules.length === 0) &&
  (turn.rollout === null || turn.rollout.paused || turn.rollout.readySinceMs !== null) &&
  (rollout === null) === (turn.rollout === null) &&
  Object.values(turn.failures).every(({ inARow }) => inARow === 0) &&
  replicas.every((replica) => isLive(replica) && (serves(replica) || replica.sessionState === 'PENDING'));
