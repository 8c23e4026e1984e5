import type { DeviceGuarantees, Session } from '../contract/index.js';
import { formatAge, formatBytes, formatSeconds, formatSlots, formatUntil } from './format-amounts.js';
import { idleLines } from './idle-lines.js';
import { unknownText } from './start-text.js';

type Device = Session['kernels'][number]['devices'][number];
const NOT_YET: readonly Session['state'][] = ['SUBMITTED', 'PENDING'];

/** A session for people: where it stands, its attempts, its times, how it may be stopped, and each kernel with its devices. */
export function sessionText(session: Session, now: Date): string {
  const { name, id, user, project, group, image, command, kernels, slots } = session;
  return [
    `${name} (${id}): ${stateText(session)}`,
    `  ${session.kind} of ${user}, project ${project}, group ${group}, ${formatSlots(slots)} in all`,
    `  ${[image, ...command].join(' ')}`,
    ...attemptLines(session, now),
    ...timeLines(session, now),
    ...stopLines(session, now),
    ...contractLines(session),
    ...idleLines(session.idle, now),
    ...session.dependsOn.map((on) => `  after ${on.name} (${on.state}); if that fails: ${on.onFailure}`),
    ...kernels.flatMap(kernelLines),
    ...session.mounts.map(
      ({ folder, target, readOnly }) => `  folder ${folder} at ${target}${readOnly ? ', read only' : ''}`,
    ),
    ...session.ports.map(portText),
  ].join('\n');
}

function stateText({ state, reason, message, result, cause }: Session): string {
  const why = reason ?? (result === 'none' ? cause : [result, cause].filter((part) => part !== null).join(', '));
  return [state, why ?? '', message ?? ''].filter((part) => part !== '').join(' · ');
}

function attemptLines({ attempt, maxAttempts, retryAt }: Session, now: Date): readonly string[] {
  const again = retryAt === null ? '' : `, tried again ${formatUntil(retryAt, now)} (${retryAt})`;
  return attempt > 1 || retryAt !== null
    ? [`  attempt ${attempt}, at most ${maxAttempts} failed by the platform${again}`]
    : [];
}

function timeLines(session: Session, now: Date): readonly string[] {
  const { submittedAt, startedAt, endedAt, startsAt, expectedStart, maxRuntimeSeconds } = session;
  const ran = startedAt === null ? '' : `, started ${formatAge(startedAt, now)} ago`;
  const ended = endedAt === null ? '' : `, ended ${formatAge(endedAt, now)} ago`;
  const isWaiting = NOT_YET.includes(session.state);
  return [
    `  submitted ${formatAge(submittedAt, now)} ago${ran}${ended}`,
    ...(isWaiting && startsAt !== null ? [`  not before ${startsAt} (${formatUntil(startsAt, now)})`] : []),
    ...(isWaiting && expectedStart !== null ? [startText(expectedStart, now)] : []),
    ...(maxRuntimeSeconds === null ? [] : [`  runs for at most ${formatSeconds(maxRuntimeSeconds)}`]),
  ];
}

const startText = ({ at, basis }: NonNullable<Session['expectedStart']>, now: Date): string =>
  at === null ? `  start ${unknownText(basis)}` : `  starts by ${at} (${formatUntil(at, now)}): ${basis}`;

function stopLines(session: Session, now: Date): readonly string[] {
  const { priority, basePriority = priority, preemptible, resumable, protectedUntil } = session;
  const lowered = basePriority === priority ? '' : ` (submitted with ${basePriority})`;
  const may = preemptible ? 'may be stopped for others' : 'is not stopped for others';
  const isProtected = protectedUntil !== null && Date.parse(protectedUntil) > now.getTime();
  const until = isProtected ? `, not before ${protectedUntil} (${formatUntil(protectedUntil, now)})` : '';
  return [`  priority ${priority}${lowered}, ${may}${preemptible ? until : ''}${resumable ? ', resumable' : ''}`];
}

/** What it was promised for its GPU-time; how it stands: berth budget explain. */
const contractLines = ({ budget, contract }: Session): readonly string[] =>
  contract === null
    ? []
    : [
        `  ${contract.allocated ? 'allocated' : `unallocated${budget === null ? '' : ` (budget ${budget})`}`}: ${contract.message}`,
      ];

function kernelLines({
  role,
  node,
  devices,
  slots,
  exitCode,
  exitReason,
}: Session['kernels'][number]): readonly string[] {
  const place = node === null ? 'not placed' : `on ${node}`;
  const exit = exitCode === null ? '' : `, exit code ${exitCode}${exitReason === null ? '' : ` (${exitReason})`}`;
  return [`  ${role} ${place}, ${formatSlots(slots)}${exit}`, ...devices.map((device) => `    ${deviceText(device)}`)];
}

/** With what it promises, in words; a share that nothing keeps to its memory says so. */
function deviceText({ id, model, simulated, share, guarantees }: Device): string {
  const kind = `${id}  ${model}${simulated && model !== 'simulated' ? ' (simulated)' : ''}`;
  return `${kind}  ${share === null ? 'whole' : shareText(share)}${guarantees === undefined ? '' : `: ${promiseText(guarantees)}`}`;
}

function shareText({ memoryBytes, limitBytes, sharing }: NonNullable<Device['share']>): string {
  const limit = limitBytes === memoryBytes ? '' : `, at most ${formatBytes(limitBytes)}`;
  return `share of ${formatBytes(memoryBytes)}${limit}, by ${sharing}`;
}

const COMPUTE = {
  exclusive: 'compute of its own',
  'in-turns': 'compute in turns',
  together: 'compute together',
} as const;

function promiseText({ memory, compute, faults }: DeviceGuarantees): string {
  const limit = memory === 'enforced' ? 'memory limit enforced' : 'memory limit NOT enforced';
  const errors = faults === 'isolated' ? 'faults isolated' : 'faults shared with the neighbours';
  return `${limit}, ${COMPUTE[compute]}, ${errors}`;
}

const portText = ({ name, containerPort, hostPort, node }: Session['ports'][number]): string =>
  `  port ${name} ${containerPort}${hostPort === null ? '' : ` at ${node ?? '?'}:${hostPort}`}`;
