import type { Pool } from '../contract/index.js';
import { formatAge, formatBytes, formatSeconds } from './format-amounts.js';
import type { Shown } from './output.js';

const DEFAULT_ROOM_SECONDS = 30;

export const readyMembers = ({ members }: Pool): number => members.filter(({ state }) => state === 'READY').length;

/** What keeps members that are wanted away, once each. */
const whyOf = ({ members }: Pool): string =>
  [...new Set(members.flatMap(({ reason }) => (reason === null ? [] : [reason])))].join('; ');

export const poolState = (pool: Pool): string => {
  if (pool.isDraining) return 'DRAINING';
  if (readyMembers(pool) === 0) return 'EMPTY';
  return readyMembers(pool) < pool.membersWanted ? 'PARTLY' : 'READY';
};

export const sleepText = ({ policy }: Pick<Pool, 'policy'>): string =>
  policy.sleepAfterSeconds === null ? 'to make room' : `after ${formatSeconds(policy.sleepAfterSeconds)}`;

export const POOL: Shown<Pool> = {
  none: 'no pools that you may use; an operator makes one: berth pool create --help',
  nameOf: ({ name }) => name,
  idOf: ({ name }) => name,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'STATE', of: poolState },
    { head: 'WHY', of: whyOf },
    { head: 'MEMBERS', of: (pool) => `${readyMembers(pool)}/${pool.membersWanted}` },
    {
      head: 'GPUS',
      of: ({ member }) => `${member.gpus}${member.gpuModel === undefined ? '' : ` ${member.gpuModel}`} each`,
    },
    { head: 'MODELS', of: ({ claims }) => String(claims) },
    { head: 'ENGINE', of: ({ engine }) => engine },
    { head: 'SLEEP', of: sleepText },
    { head: 'ASLEEP', of: ({ policy }) => (policy.noWakeReserveWhileAsleep ? 'releases' : 'keeps') },
    { head: 'PROJECT', of: ({ project }) => project },
    { head: 'AGE', of: ({ createdAt }, now) => formatAge(createdAt, now) },
    { head: 'PLACEMENT', of: ({ policy }) => policy.placement, isWide: true },
    { head: 'GROUP', of: ({ group }) => group, isWide: true },
    { head: 'IMAGE', of: ({ member }) => member.image, isWide: true },
    { head: 'ALLOWED', of: ({ projects }) => projects.join(',') || '-', isWide: true },
  ],
};

/** A pool for people: what it is made of, when its models sleep, who may use it, and how each member stands. */
export function poolText(pool: Pool): string {
  const { name, member, policy, members } = pool;
  const room = Math.min(DEFAULT_ROOM_SECONDS, policy.sleepAfterSeconds ?? DEFAULT_ROOM_SECONDS);
  return [
    `pool ${name}: ${poolState(pool)}, ${readyMembers(pool)} of ${pool.membersWanted} members ready, ${pool.claims} models`,
    `  members  ${member.gpus} ${member.gpuModel ?? 'GPUs'} and ${formatBytes(member.memoryBytes)} of memory each, in group ${pool.group}`,
    `  engine   ${pool.engine}, image ${member.image}`,
    `  sleep    ${sleepText(pool)}; a sleeper ${policy.noWakeReserveWhileAsleep ? 'gives its room away' : 'keeps its room'}`,
    `  room     made by those that are idle for ${formatSeconds(policy.sleepToMakeRoomAfterSeconds ?? room)}; placement ${policy.placement}`,
    `  projects ${[pool.project, ...pool.projects].join(', ')}`,
    ...members.map(
      ({ ordinal, state, node, reason, sessionId }) =>
        `  ${ordinal}  ${state}  ${node ?? 'no node yet'}  ${sessionId}${reason === null ? '' : `  ${reason}`}`,
    ),
    `its GPUs: berth gpu ${name}; its models: berth model ls --pool ${name}`,
  ].join('\n');
}
