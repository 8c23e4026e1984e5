import type { HealthCheck } from '../contract/index.js';

export type Level = 'healthy' | 'degraded' | 'unhealthy';

export interface Miss {
  /** Nobody listens there. */
  readonly refused: boolean;
  readonly message: string;
}

export interface Probed {
  /** As it was last told; undefined: nothing was yet. */
  readonly told: Level | undefined;
  /** In a row, this one too. */
  readonly misses: number;
  /** It succeeded before, or its first success is overdue: misses mean something. */
  readonly counts: boolean;
  /** Undefined: it answered. */
  readonly miss: Miss | undefined;
}

/** What a probe makes of it; unhealthy until a success, whatever the next misses are. Undefined: nothing to tell yet. */
export function levelAfter(
  probed: Probed,
  check: Pick<HealthCheck, 'failures' | 'refusedIsUnhealthy'>,
): Level | undefined {
  const { told, misses, counts, miss } = probed;
  if (miss === undefined) return 'healthy';
  if (!counts || told === 'unhealthy') return told;
  const isOut = misses >= check.failures || (miss.refused && check.refusedIsUnhealthy);
  return isOut ? 'unhealthy' : 'degraded';
}
