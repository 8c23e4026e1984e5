import type { ClaimReasonCode, ModelClaim } from '../contract/index.js';
import { exactBytes, exactOr } from './exact-bytes.js';
import { formatAge, formatSeconds, formatUntil } from './format-amounts.js';

/** What may be done about it, as a command or in words. `{model}` and `{pool}` are filled in. */
const HELP: Readonly<Record<ClaimReasonCode, readonly string[]>> = {
  NoRoom: [
    'see who has the room: berth gpu {pool}',
    'let sleepers give theirs away (operators): berth pool set {pool} --release',
    'ask for less: berth model set {model} --footprint … --kv-floor … (figures: berth model suggest {model})',
    'a larger pool (operators): berth pool scale {pool} N',
  ],
  MakingRoom: ['wait: it is placed as soon as its neighbour sleeps; live: berth gpu {pool} --watch'],
  WaitingForRoom: [
    'wait: it wakes once a neighbour has been idle for long enough; live: berth gpu {pool} --watch',
    'put one of yours to sleep: berth model sleep OTHER',
  ],
  TooLargeForAnyGpu: [
    'spread it over more GPUs: claim it anew with --tensor N',
    'ask for less: berth model set {model} --footprint … --kv-floor …',
    'it is tried again when a larger GPU joins the pool',
  ],
  EngineStarting: ['wait: berth model claim shows it live with --wait; berth model history {model}'],
  EngineSleeping: ['a request wakes it, or: berth model wake {model}'],
  EngineFailed: [
    'what happened: berth model history {model}',
    'claim it anew with other arguments: berth model rm {model}',
  ],
  Moving: ['wait: its new engine starts while the old one is kept'],
  PoolEmpty: ['how its members stand: berth pool get {pool}', 'operators: berth pool scale {pool} 1'],
  QuotaExceeded: ['what the project has: berth quota ls', 'how its members stand: berth pool get {pool}'],
};

/**
 * Why a model does not serve, for people: the one reason with its sum, what would help, when that is, and how each engine
 * stands.
 */
export function modelWhyText(claim: ModelClaim, now: Date): string {
  const { modelName, phase, reason } = claim;
  return [
    `${modelName} is ${phase}${reason === null ? '' : `: ${reason.code}`}`,
    `  ${reason?.message || servesText(claim)}`,
    ...sumLines(claim),
    ...whenLines(claim, now),
    ...claim.instances.map((instance) => `  ${instanceText(instance, now)}`),
    ...helpOf(claim).map((help) => `  try: ${help}`),
  ].join('\n');
}

const servesText = ({ phase, instances }: ModelClaim): string => {
  const routed = instances.filter(({ routable }) => routable).length;
  if (phase === 'ACTIVE') return `it serves, with ${routed} of ${instances.length} engines on the route`;
  return phase === 'STOPPING'
    ? 'it ends: off the route, what is in flight is served'
    : 'the planner has not looked yet';
};

export const helpOf = ({ reason, modelName, pool }: ModelClaim): readonly string[] =>
  reason === null
    ? []
    : (HELP[reason.code] ?? []).map((text) => text.replaceAll('{model}', modelName).replaceAll('{pool}', pool));

/** F + K is what it needs of each of its GPUs. */
function sumLines({
  maximumFootprintBytes,
  kvFloorBytes,
  kvMinBytes,
  gpusPerInstance,
  reason,
}: ModelClaim): readonly string[] {
  if (reason === null) return [];
  const floorBytes = Math.max(kvFloorBytes, kvMinBytes ?? 0);
  const each = gpusPerInstance === 1 ? '' : ` of each of ${gpusPerInstance} GPUs`;
  const sum = `${exactBytes(maximumFootprintBytes)} footprint + ${exactBytes(floorBytes)} KV floor`;
  return [`  needs ${exactBytes(maximumFootprintBytes + floorBytes)}${each}: ${sum}`];
}

function whenLines(
  { wakeAskedAt, reason, phase, startSeconds, wakeSeconds }: ModelClaim,
  now: Date,
): readonly string[] {
  const at = reason?.data['at'];
  const takes = phase === 'STARTING' ? startSeconds : phase === 'WAKING' ? wakeSeconds : null;
  return [
    ...(wakeAskedAt === null
      ? []
      : [`  its wake was asked for ${formatAge(wakeAskedAt, now)} ago; in order of asking`]),
    ...(typeof at === 'string' ? [`  the earliest change: ${at} (${formatUntil(at, now)})`] : []),
    ...(takes === null ? [] : [`  it took ${formatSeconds(takes)} the last time`]),
  ];
}

function instanceText(instance: ModelClaim['instances'][number], now: Date): string {
  const { replica, phase, gpus, limitBytes, plannedBytes, kvUsedBytes, residueBytes, running, waiting } = instance;
  const planned = plannedBytes === null || plannedBytes === limitBytes ? '' : `, planned ${exactBytes(plannedBytes)}`;
  const memory =
    phase === 'SLEEPING'
      ? `${residueBytes === null ? 'residue not known' : `${exactBytes(residueBytes)} left there`}`
      : `KV limit ${exactOr(limitBytes)}${planned}, ${exactBytes(kvUsedBytes)} in use`;
  const load = phase === 'ACTIVE' ? `, ${running ?? '?'} running, ${waiting ?? '?'} waiting` : '';
  const idle = instance.idleSince === null ? '' : `, idle for ${formatAge(instance.idleSince, now)}`;
  const route = phase === 'ACTIVE' && !instance.routable ? ', off the route' : '';
  const restarts = instance.restarts === 0 ? '' : `, restarted ${instance.restarts} times`;
  const message = instance.message === null ? '' : `: ${instance.message}`;
  return `engine ${replica} on ${gpus.join(',')}: ${phase} for ${formatAge(instance.phaseSince, now)}, ${memory}${load}${idle}${route}${restarts}${message}`;
}
