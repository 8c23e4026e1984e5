import { newSessionId } from '../../platform/ids.js';
import type { Runner } from '../database.js';
import type { MemberWork } from '../model-store.js';
import { sql } from '../sql.js';
import { principalOf } from '../tenancy/principal.js';
import { closeOrphans } from './close-orphans.js';
import { lockPool, markChanged } from './pool-lock.js';
import { readAnyPool } from './read-pools.js';

interface PoolRow {
  readonly owner: string;
  readonly members_wanted: number;
  readonly removed: boolean;
  readonly waits: boolean;
}
interface MemberRow {
  readonly session_id: string;
  readonly ordinal: number;
  readonly draining: boolean;
  readonly state: string;
  readonly engines: number;
  readonly is_submitted: boolean;
}

const NOTHING = { from: null, submit: [], stop: [] } as const;

/** After members that never ran, the next is made later and later: 10 s and doubled, up to 10 min. */
const WAITS = sql`
  (SELECT coalesce(max(f.closed_at) + least(600, 10 * 2 ^ (least(count(*), 10) - 1)) * interval '1 second' > now(), false)
    FROM pool_members f WHERE f.pool = p.name AND f.ready_at IS NULL AND f.closed_at > now() - interval '20 minutes')`;

const readPool = (tx: Runner, pool: string): Promise<PoolRow | undefined> =>
  tx.first<PoolRow>(sql`
    SELECT u.name AS owner, CASE WHEN p.removed_at IS NULL THEN p.members_wanted ELSE 0 END AS members_wanted,
      p.removed_at IS NOT NULL AS removed, ${WAITS} AS waits
    FROM pools p JOIN users u ON u.id = p.owner_id WHERE p.name = ${pool}`);

/** In the order in which they are given up: what does not run yet, then what has the fewest engines, the newest first. */
const readMembers = (tx: Runner, pool: string): Promise<MemberRow[]> =>
  tx.rows<MemberRow>(sql`
    SELECT m.session_id, m.ordinal, m.draining, m.state, m.is_submitted,
      (SELECT count(*)::int FROM model_engines e WHERE e.session_id = m.session_id) AS engines
    FROM model_members m WHERE m.pool = ${pool}
    ORDER BY array_position('{WAITING,STARTING,LEAVING,DRAINING,READY}'::text[], m.state), 6, m.ordinal DESC`);

const setDraining = (tx: Runner, members: readonly MemberRow[], draining: boolean): Promise<number> =>
  tx.run(sql`
    UPDATE pool_members SET draining = ${draining} WHERE session_id = ANY(${members.map((one) => one.session_id)}::text[])`);

/** With the lowest ordinals that are free. */
const addMembers = (tx: Runner, pool: string, count: number): Promise<number> =>
  tx.run(sql`
    INSERT INTO pool_members (session_id, pool, ordinal)
    SELECT made.id, ${pool}, free.ordinal
    FROM unnest(${Array.from({ length: count }, () => newSessionId())}::text[]) WITH ORDINALITY AS made(id, place)
    JOIN (SELECT o AS ordinal, row_number() OVER (ORDER BY o) AS place FROM generate_series(0, 2000) o
      WHERE NOT EXISTS (SELECT 1 FROM pool_members m WHERE m.pool = ${pool} AND m.closed_at IS NULL AND m.ordinal = o)) free
      ON free.place = made.place`);

/** So many as are wanted: those that drain come back first, new ones after them. True where something changed. */
async function adjust(tx: Runner, pool: string, row: PoolRow): Promise<boolean> {
  const members = await readMembers(tx, pool);
  const staying = members.filter((one) => !one.draining);
  const surplus = staying.slice(0, Math.max(0, staying.length - row.members_wanted));
  const lacking = row.members_wanted - staying.length;
  const returning =
    lacking <= 0 ? [] : members.filter((one) => one.draining && one.state !== 'LEAVING').slice(-lacking);
  const fresh = row.waits ? 0 : Math.max(0, lacking - returning.length);
  if (surplus.length > 0) await setDraining(tx, surplus, true);
  if (returning.length > 0) await setDraining(tx, returning, false);
  if (fresh > 0) await addMembers(tx, pool, fresh);
  return surplus.length + returning.length + fresh > 0;
}

/** What was never submitted is just forgotten. */
const forget = (tx: Runner, pool: string): Promise<number> =>
  tx.run(sql`
    UPDATE pool_members m SET closed_at = now(), close_reason = 'not wanted any more', ready_at = coalesce(ready_at, now())
    WHERE m.pool = ${pool} AND m.closed_at IS NULL AND m.draining
      AND NOT EXISTS (SELECT 1 FROM submissions s WHERE s.session_id = m.session_id)`);

export async function memberWork(tx: Runner, pool: string): Promise<MemberWork> {
  await lockPool(tx, pool);
  await closeOrphans(tx, pool);
  const row = await readPool(tx, pool);
  if (row === undefined) return { outcome: 'missing', ...NOTHING };
  if (await adjust(tx, pool, row)) await markChanged(tx, pool);
  await forget(tx, pool);
  const members = await readMembers(tx, pool);
  if (row.removed && members.length === 0) return { outcome: 'ended', ...NOTHING };
  const submit = members
    .filter((one) => !one.is_submitted)
    .map(({ session_id, ordinal }) => ({ sessionId: session_id, ordinal }))
    .toSorted((a, b) => a.ordinal - b.ordinal);
  const stop = members.filter(
    (one) => one.draining && one.is_submitted && one.engines === 0 && one.state !== 'LEAVING',
  );
  const owner = submit.length === 0 ? null : await principalOf(tx, row.owner);
  const view = owner === null ? null : await readAnyPool(tx, pool);
  const from = owner === null || view === null ? null : { owner, pool: view };
  return { outcome: 'lives', from, submit, stop: stop.map((one) => one.session_id) };
}
