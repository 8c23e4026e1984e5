import { type CreateSession, createSessionSchema, type Pool } from '../../src/contract/index.js';

/** What tells a member's session from others, for people and for `berth ps`. */
export const POOL_LABEL = 'berth.pool';

const NAME_LENGTH_MAX = 63;
/** For who reads the session: the agent runs its own anchor in the place of whatever a member's command is. */
const ANCHOR_COMMAND = ['anchor'];
/** Of a member's own end: its engines are drained before it is told to go. */
const GRACE_SECONDS = 10;

/**
 * The session that one member of a pool is: it holds the GPUs and the host memory in the one ledger, and its one kernel is
 * the anchor whose /dev/shm the engines share. The name is unique: one with the same ordinal may be on its way out still.
 */
export function memberSession(
  pool: Pool,
  { ordinal, sessionId }: { ordinal: number; sessionId: string },
): CreateSession {
  const { image, gpus, gpuModel, cpuMilli, memoryBytes } = pool.member;
  const ending = `-${ordinal}-${sessionId.slice(-5)}`;
  return createSessionSchema.parse({
    name: `${pool.name.slice(0, NAME_LENGTH_MAX - ending.length)}${ending}`,
    kind: 'system',
    project: pool.project,
    group: pool.group,
    image,
    command: ANCHOR_COMMAND,
    kernels: [{ role: 'main', slots: { cpuMilli, memoryBytes, gpuCount: gpus } }],
    ...(gpuModel === undefined ? {} : { gpuModel }),
    gracePeriodSeconds: GRACE_SECONDS,
    labels: { [POOL_LABEL]: pool.name },
  });
}
