import type { Blocker } from '../../contract/index.js';
import { formatCpu } from '../format-amounts.js';
import type { Expectation, Sample, SeenSession } from './sample.js';

const told = (session: SeenSession | undefined): string => {
  if (session === undefined) return 'no such session';
  const { state, reason, message, cause } = session;
  return [state, reason ?? cause ?? '', message].filter((part) => part !== '').join(': ');
};

function about(label: string, says: string, holds: (session: SeenSession, sample: Sample) => boolean): Expectation {
  return {
    says: `${label} ${says}`,
    holds: (sample) => {
      const session = sample.sessions[label];
      return session !== undefined && holds(session, sample);
    },
    seen: (sample) => `${label} is ${told(sample.sessions[label])}`,
  };
}

export const isState = (label: string, state: string): Expectation =>
  about(label, `is ${state}`, (session) => session.state === state);

export const endedBy = (label: string, cause: string, state = 'ERROR'): Expectation =>
  about(label, `ended by ${cause}`, (session) => session.cause === cause && session.state === state);

/** How much of a slot it lacks where there is most room: need + used − limit. */
const lacking = ({ need, used, limit }: Blocker): number => (need ?? 0) + (used ?? 0) - (limit ?? 0);

export interface Lack {
  readonly resource: 'cpuMilli' | 'gpuCount';
  readonly more: number;
}

const amountOf = ({ resource, more }: Lack): string =>
  resource === 'cpuMilli' ? `${formatCpu(more)} more CPU` : `${more} more GPU`;

export const waitsForCapacity = (label: string, lack: Lack): Expectation =>
  about(
    label,
    `waits: insufficient_capacity, for ${amountOf(lack)}`,
    ({ state, reason, blockers }) =>
      state === 'PENDING' &&
      reason === 'insufficient_capacity' &&
      blockers.some(({ kind, resource, ...amounts }) => {
        const blocker = { kind, resource, ...amounts };
        return kind === 'capacity' && resource === lack.resource && lacking(blocker) === lack.more;
      }),
  );

/** The sum of what is free suffices, and no node has it. */
export const waitsFragmented = (label: string): Expectation =>
  about(label, 'waits: fragmented', ({ state, reason }) => state === 'PENDING' && reason === 'fragmented');

/** It fits now, and would move the start of the one ahead. */
export const waitsForReservation = (label: string, ahead: string): Expectation =>
  about(
    label,
    `waits: delays_reservation, of ${ahead}`,
    ({ state, reason, message }, { sessions }) =>
      state === 'PENDING' &&
      reason === 'delays_reservation' &&
      (message.includes(ahead) || message.includes(sessions[ahead]?.id ?? ahead)),
  );

export const runsOn = (label: string, node: string): Expectation =>
  about(label, `runs on ${node}`, ({ state, nodes }) => state === 'RUNNING' && nodes.length === 1 && nodes[0] === node);

export const expectsStart = (label: string, known: boolean): Expectation =>
  about(
    label,
    known ? 'knows when it starts' : 'has no bound of its start',
    ({ expectedStart }) => (expectedStart !== null) === known,
  );

/** The message and the blocker name the session that it is behind. */
export const waitsBehind = (label: string, ahead: string): Expectation =>
  about(label, `waits: behind_in_queue, behind ${ahead}`, ({ state, reason, blockers, message }, { sessions }) => {
    const id = sessions[ahead]?.id ?? '';
    const isNamed = blockers.some(({ kind, name }) => kind === 'session' && (name === id || name === ahead));
    return state === 'PENDING' && reason === 'behind_in_queue' && isNamed && message !== '';
  });

export interface QuotaSum {
  readonly held: number;
  readonly requested: number;
  readonly limit: number;
}

export const waitsForQuota = (label: string, { held, requested, limit }: QuotaSum): Expectation =>
  about(
    label,
    `waits: project_quota, held ${held} + ${requested} > ${limit} GPUs`,
    ({ state, reason, blockers, message }) =>
      state === 'PENDING' &&
      reason === 'project_quota' &&
      message.includes(`held ${held} + ${requested} > ${limit}`) &&
      blockers.some(
        (blocker) =>
          blocker.kind === 'quota' &&
          blocker.resource === 'gpuCount' &&
          blocker.used === held &&
          blocker.need === requested &&
          blocker.limit === limit,
      ),
  );

export const cpusInUse = (milli: number): Expectation => ({
  says: `${formatCpu(milli)} CPU in use`,
  holds: ({ use }) => use.cpuMilli === milli,
  seen: ({ use }) => `${formatCpu(use.cpuMilli)} of ${formatCpu(use.cpuMilliCapacity)} CPU in use`,
});

export const gpusInUse = (count: number): Expectation => ({
  says: `${count} GPUs in use`,
  holds: ({ use }) => use.gpus === count,
  seen: ({ use }) => `${use.gpus} of ${use.gpuCapacity} GPUs in use`,
});

export const nothingInUse: Expectation = {
  says: 'zero slots in use',
  holds: ({ use }) => use.cpuMilli === 0 && use.gpus === 0,
  seen: ({ use }) => `${formatCpu(use.cpuMilli)} CPU and ${use.gpus} GPUs in use`,
};

/** What of it does not hold, as `expected …, seen …` lines. */
export function differences(expected: readonly Expectation[], sample: Sample): readonly string[] {
  return expected
    .filter(({ holds }) => !holds(sample))
    .map(({ says, seen }) => `expected: ${says}; seen: ${seen(sample)}`);
}
