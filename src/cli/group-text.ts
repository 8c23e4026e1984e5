import type { Group, GroupPolicy } from '../contract/index.js';
import { formatSeconds } from './format-amounts.js';
import { idlePolicyText } from './idle-setting.js';

/** A group for people: what it has, then its policy in the words that `berth group set` takes. */
export function groupText(group: Group): string {
  const { name, policy, domains, projects } = group;
  const access = [...domains, ...projects];
  return [
    `group ${name}${policy.paused ? ' (paused: nothing new is placed)' : ''}`,
    `  nodes: ${group.nodes}    sessions: ${group.runningSessions} run, ${group.pendingSessions} wait`,
    `  for: ${access.length === 0 ? 'everyone' : access.join(', ')}`,
    ...(group.blockedBy === null ? [] : [`  ${blockedText(policy)}: berth why ${group.blockedBy}`]),
    ...policyLines(policy).map(([key, value]) => `  ${key.padEnd(24)}${value}`),
  ].join('\n');
}

const blockedText = ({ backfill }: GroupPolicy): string =>
  backfill === 'none' ? 'one that waits for room stops the queue' : 'the first that waits for room';

const SLOTS = { gpuCount: 'gpu', gpuMemoryBytes: 'gpu.mem', cpuMilli: 'cpu', memoryBytes: 'mem' } as const;
const timeOrNone = (seconds: number | null): string => (seconds === null ? 'none' : formatSeconds(seconds));

function policyLines(policy: GroupPolicy): readonly (readonly [key: string, value: string])[] {
  return [
    ['order', ORDER_TEXT[policy.order]],
    ['placement', policy.placement],
    ['slotOrder', policy.slotOrder.map((slot) => SLOTS[slot]).join(',')],
    ['backfill', backfillText(policy.backfill)],
    ['decay', decayText(policy.decay)],
    ['preemption', preemptionText(policy.preemption)],
    ['guarantees', guaranteesText(policy)],
    ['maxWait', timeOrNone(policy.maxWaitSeconds)],
    ['maxPending', policy.maxPendingSessions === null ? 'none' : String(policy.maxPendingSessions)],
    ...Object.entries(policy.maxRuntimeSeconds).map(
      ([kind, seconds]) => [`maxRuntime.${kind}`, timeOrNone(seconds)] as const,
    ),
    ...Object.entries(policy.idle).map(([kind, rule]) => [`idle.${kind}`, idlePolicyText(rule)] as const),
    ['allowUnenforcedSharing', String(policy.allowUnenforcedSharing)],
    ['blackHoleFailures', blackHoleText(policy.blackHoleFailures)],
    ['lostAfter', formatSeconds(policy.lostAfterSeconds)],
  ];
}

const ORDER_TEXT = {
  fifo: 'fifo: priority, then submission',
  'fair-share': 'fair-share: by the budgets (berth budget tree); they decide who is stopped and who passes, too',
} as const satisfies Record<GroupPolicy['order'], string>;

const BACKFILL_TEXT = {
  none: 'none: who waits for room stops the queue',
  easy: 'easy: others may pass if that does not delay the first that waits for room',
  conservative: 'conservative: others may pass if that delays nobody ahead of them',
} as const satisfies Record<GroupPolicy['backfill'], string>;
const backfillText = (backfill: GroupPolicy['backfill']): string => BACKFILL_TEXT[backfill];

function decayText({ by, after, afterSeconds, step }: GroupPolicy['decay']): string {
  if (by === 'off') return 'off';
  const when = by === 'attempts' ? `more than ${after} passes` : formatSeconds(afterSeconds);
  return `by ${by}: ${step} less priority after ${when} blocked at the head`;
}

function preemptionText({ enabled, mode, scope, order }: GroupPolicy['preemption']): string {
  if (!enabled) return 'off';
  const whom = scope === 'group' ? 'anyone' : `the same ${scope}`;
  const then = mode === 'requeue' ? 'go back to the queue' : 'end';
  return `on: sessions of lower priority of ${whom}, ${order} first; they ${then}`;
}

/** Budgets take their place: one that is set is not forgotten, and not kept either. */
function guaranteesText({ guarantees, order }: GroupPolicy): string {
  const set = guarantees.map(guaranteeText).join(', ');
  if (set === '') return 'none';
  return order === 'fair-share' ? `not kept under fair-share, the budgets say who gets what: ${set}` : set;
}

const guaranteeText = ({ project, kind, gpuCount, returnSeconds }: GroupPolicy['guarantees'][number]): string =>
  `${kind === undefined ? project : project === undefined ? 'deployments' : `deployments of ${project}`}: ${gpuCount} GPU within ${formatSeconds(returnSeconds)}`;

const blackHoleText = (failures: number): string =>
  failures === 0 ? 'off' : `a node is cordoned after ${failures} failed starts in a row`;
