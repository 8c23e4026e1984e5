import { type Failures, nextCreateMs } from './back-off.js';
import { isLive, isSound, type Replica, serves } from './replica.js';

export interface Wanted {
  readonly revision: number;
  readonly count: number;
}

export interface Correction {
  readonly create: readonly Wanted[];
  readonly drain: readonly {
    readonly id: string;
    readonly why: 'surplus' | 'unhealthy' | 'old-revision' | 'ending';
  }[];
  /** `live 2, wanted 3`; null: nothing is corrected. */
  readonly message: string | null;
  /** When failures allow the next one; null: nothing waits for that. */
  readonly nextMs: number | null;
}

/**
 * Live replicas made equal to the wanted ones, revision by revision; whether one serves is another question. An unhealthy one
 * ends and is replaced; too many: first those that do not serve or are not reached, then the newest. Failures in a row hold back the next, not
 * what is drained. The first wanted revision is the one that stays. A second call on the outcome corrects nothing.
 */
export function converge(
  wanted: readonly Wanted[],
  replicas: readonly Replica[],
  { failures, nowMs }: { readonly failures: (revision: number) => Failures; readonly nowMs: number },
): Correction {
  const sound = replicas.filter(isSound);
  const drain: Correction['drain'][number][] = replicas
    .filter((replica) => isLive(replica) && !isSound(replica))
    .map(({ id }) => ({ id, why: 'unhealthy' }));
  const create: Wanted[] = [];
  const waits: number[] = [];
  for (const [place, { revision, count }] of wanted.entries()) {
    const own = sound.filter((replica) => replica.revision === revision);
    const missing = count - own.length;
    const why = place === 0 ? 'surplus' : 'old-revision';
    if (missing < 0) drain.push(...leaving(own, -missing).map(({ id }) => ({ id, why }) as const));
    if (missing <= 0) continue;
    const allowedMs = nextCreateMs(failures(revision));
    if (allowedMs > nowMs) waits.push(allowedMs);
    else create.push({ revision, count: missing });
  }
  const revisions = new Set(wanted.map(({ revision }) => revision));
  const old = sound.filter(({ revision }) => !revisions.has(revision));
  drain.push(...old.map(({ id }) => ({ id, why: wanted.length === 0 ? 'ending' : 'old-revision' }) as const));
  const total = wanted.reduce((sum, { count }) => sum + count, 0);
  const isCorrected = create.length + drain.length + waits.length > 0;
  return {
    create,
    drain,
    message: isCorrected ? `live ${sound.length}, wanted ${total}` : null,
    nextMs: waits.length === 0 ? null : Math.min(...waits),
  };
}

const isReached = (replica: Replica): boolean => serves(replica) && !replica.isRefused;

/** First those that do not serve or are not reached, then the newest, then by id. */
export const leaving = (replicas: readonly Replica[], count: number): readonly Replica[] =>
  replicas
    .toSorted(
      (a, b) =>
        Number(serves(a)) - Number(serves(b)) ||
        Number(isReached(a)) - Number(isReached(b)) ||
        b.createdMs - a.createdMs ||
        (a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
    )
    .slice(0, count);
