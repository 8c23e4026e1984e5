import { backOffMs } from './back-off.js';
import { failedNow } from './count-failures.js';
import { isLive } from './replica.js';
import { BY_REQUEST } from './scale-turn.js';
import type { DeploymentSnapshot, DeploymentTurn } from './turn-types.js';

type Event = DeploymentTurn['events'][number];
type Decided = Omit<DeploymentTurn, 'events'>;

/** What a turn tells of: only what it changes, so a turn that changes nothing tells nothing. */
export const eventsOf = (snapshot: DeploymentSnapshot, turn: Decided, counts: string | null): readonly Event[] => [
  ...failedEvents(snapshot),
  ...scaledEvents(snapshot, turn),
  ...rolloutEvents(snapshot, turn),
  ...correctedEvents(snapshot, turn, counts),
  ...backOffEvents(snapshot, turn),
];

/** Without the replica's id in the text, equal ones count as one. */
const failedEvents = ({ replicas }: DeploymentSnapshot): readonly Event[] =>
  replicas.flatMap((replica): readonly Event[] => {
    const { id, revision, message, fault, drainingMs } = replica;
    const data = { sessionId: id, revision, fault };
    const why = message === null ? '' : `: ${message}`;
    if (failedNow(replica))
      return [{ kind: 'failed', message: `a replica of revision ${revision} failed${why}`, data }];
    const isLost =
      drainingMs === null && (replica.route === 'ENDED' || (isLive(replica) && replica.health === 'unhealthy'));
    if (!isLost) return [];
    const how = fault === 'asked' ? 'was stopped' : 'is lost';
    return [{ kind: 'unhealthy', message: `a replica of revision ${revision} ${how}${why}`, data }];
  });

function scaledEvents({ wanted }: DeploymentSnapshot, turn: Decided): readonly Event[] {
  if (turn.wanted === wanted) return [];
  const because = turn.decision?.because ?? `${wanted} → ${turn.wanted}`;
  const kind = turn.fired === BY_REQUEST ? 'woken' : 'scaled';
  return [{ kind, message: because, data: { from: wanted, to: turn.wanted, by: turn.decision?.by ?? null } }];
}

function rolloutEvents({ rollout }: DeploymentSnapshot, turn: Decided): readonly Event[] {
  if (rollout === null) return [];
  const data = { from: rollout.from, target: rollout.target, step: rollout.step };
  if (turn.verdict !== null) {
    const { kind, because } = turn.verdict;
    const message = kind === 'done' ? `revision ${rollout.target} is rolled out: ${because}` : because;
    return [{ kind: 'rollout', message, data: { ...data, verdict: kind } }];
  }
  const step = turn.rollout?.step ?? rollout.step;
  if (step === rollout.step) return [];
  return [
    { kind: 'rollout', message: `step ${rollout.step + 1} is done, step ${step + 1} begins`, data: { ...data, step } },
  ];
}

function correctedEvents(
  { replicas }: DeploymentSnapshot,
  { create, drain }: Decided,
  counts: string | null,
): readonly Event[] {
  if (create.length + drain.length === 0) return [];
  const revisionOf = new Map(replicas.map(({ id, revision }) => [id as string, revision]));
  const leaving = new Map<string, number>();
  for (const { id, why } of drain) {
    const line = `of revision ${revisionOf.get(id) ?? '?'} to end (${why})`;
    leaving.set(line, (leaving.get(line) ?? 0) + 1);
  }
  const lines = [
    ...create.map(({ revision, count }) => `${count} more of revision ${revision}`),
    ...[...leaving].map(([line, count]) => `${count} ${line}`),
  ];
  return [{ kind: 'corrected', message: `${counts ?? ''}: ${lines.join(', ')}`, data: { create, drain } }];
}

/** Told when a failure lengthens the wait, not while it goes on. */
const backOffEvents = ({ failures, nowMs }: DeploymentSnapshot, turn: Decided): readonly Event[] =>
  Object.entries(turn.failures).flatMap(([revision, { inARow }]): readonly Event[] => {
    const before = failures[Number(revision)]?.inARow ?? 0;
    if (inARow <= Math.max(1, before) || turn.retryMs === null) return [];
    const message = `${inARow} failures in a row of revision ${revision}: the next replica in ${backOffMs(inARow) / 1000} s`;
    return [
      { kind: 'backs-off', message, data: { revision: Number(revision), inARow, retryMs: turn.retryMs - nowMs } },
    ];
  });
