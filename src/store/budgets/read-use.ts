import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import type { Window } from './read-capacity.js';
import { type AccountTime, readDecayedTime, readGpuTime } from './read-gpu-time.js';

/** By budget, with what was charged to a closed one at the nearest above it that is open; and by project where there was no budget. */
export interface Use {
  readonly charged: ReadonlyMap<string, number>;
  readonly unallocated: ReadonlyMap<string, number>;
}

/** Where the use of each budget counts: itself, or of a closed one the nearest above that is open. */
export async function readHomes(tx: Runner): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.rows<{ id: string; home: string }>(sql`SELECT id, home FROM budget_homes`);
  return new Map(rows.map(({ id, home }) => [id, home]));
}

const inWindow = ({ at, windowMs }: Window): readonly number[] => [Date.parse(at) - windowMs, Date.parse(at)];

/** Within [at − W, at), or weighed by half-lives. */
export async function readUse(tx: Runner, window: Window, homes: ReadonlyMap<string, string>): Promise<Use> {
  const { at, windowMs, halfLifeMs } = window;
  const times: readonly AccountTime[] =
    halfLifeMs === null
      ? await readGpuTime(tx, inWindow(window), at)
      : await readDecayedTime(tx, { at, windowMs, halfLifeMs });
  const sums = { charged: new Map<string, number>(), unallocated: new Map<string, number>() };
  for (const { kind, account, gpuTime } of times) {
    if (kind === 'uncharged') continue;
    const home = homes.get(account) ?? account;
    sums[kind].set(home, (sums[kind].get(home) ?? 0) + gpuTime);
  }
  return sums;
}

export interface Holding {
  readonly budgetId: string;
  /** What is still protected of it, as GPU-time. */
  readonly committed: number;
  readonly milliGpus: number;
}

/**
 * Charged work that holds room now, by budget; without those of `exceptGroup`. What has not begun to run is protected for all of
 * its minimum runtime, what is leaving for none of it.
 */
export const readHolding = (
  tx: Runner,
  { at, exceptGroup }: { readonly at: string; readonly exceptGroup: string | null },
): Promise<readonly Holding[]> =>
  tx.rows<Holding>(sql`
    SELECT h.home AS "budgetId", sum(r.milli_gpus)::bigint AS "milliGpus",
      sum(CASE WHEN s.state IN ('SCHEDULED', 'PREPARING', 'CREATING', 'RUNNING') THEN r.milli_gpus *
        greatest(0, s.min_runtime_ms - coalesce(ms_of(${at}::timestamptz - s.started_at), 0)) ELSE 0 END)::bigint AS committed
    FROM reservations r JOIN sessions s ON s.id = r.session_id JOIN budget_homes h ON h.id = r.budget_id
    WHERE r.fair_share AND NOT r.folded AND r.allocated AND r.charged AND r.released_at IS NULL
      AND s.group_name IS DISTINCT FROM ${exceptGroup} GROUP BY h.home`);
