import type { ModelClaim } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { ClaimProblem, ModelStore } from '../model-store.js';
import { json, type Sql, sql } from '../sql.js';
import { closeOrphans } from './close-orphans.js';
import { giveOrder } from './give-order.js';
import { recordModelEvent } from './model-events.js';
import { lockPool, markChanged } from './pool-lock.js';
import { readClaim } from './read-claims.js';
import { everything } from './read-pools.js';
import { readPool } from './read-snapshot.js';
import { refreshClaims } from './refresh-claims.js';

type Change = Parameters<ModelStore['changeClaim']>[1];
type By = Parameters<ModelStore['changeClaim']>[2];

interface Found {
  readonly id: string;
  readonly pool: string;
}

/** Locks its pool. One that has ended is not there. */
async function lockClaim(tx: Runner, claim: string): Promise<Found | null> {
  const living = sql`(id = ${claim} OR model_name = ${claim}) AND ended_at IS NULL`;
  const found = await tx.first<Found>(
    sql`SELECT id, pool FROM model_claims WHERE ${living} ORDER BY id = ${claim} DESC LIMIT 1`,
  );
  if (found === undefined) return null;
  await lockPool(tx, found.pool);
  await closeOrphans(tx, found.pool);
  const still = await tx.first(sql`SELECT 1 FROM model_claims WHERE id = ${found.id} AND ended_at IS NULL`);
  return still === undefined ? null : found;
}

const assigned = ({ perGpu, priority, kvMin, kvMax, sleep }: Change): Sql[] => [
  // With other figures it may start where it could not.
  ...(perGpu === undefined ? [] : [sql`failed_for_good = NULL, avoid = '[]'`]),
  ...(perGpu?.maximumFootprint === undefined ? [] : [sql`footprint_bytes = ${perGpu.maximumFootprint}`]),
  ...(perGpu?.kvFloor === undefined ? [] : [sql`kv_floor_bytes = ${perGpu.kvFloor}`]),
  ...(priority === undefined ? [] : [sql`priority = ${priority}`]),
  ...(kvMin === undefined ? [] : [sql`kv_min_bytes = ${kvMin}`]),
  ...(kvMax === undefined ? [] : [sql`kv_max_bytes = ${kvMax}`]),
  ...(sleep === undefined ? [] : [sql`sleep = sleep || ${json(sleep)}::jsonb`]),
];

export async function changeClaim(
  tx: Runner,
  claim: string,
  { change, by }: { readonly change: Change; readonly by: By },
): Promise<ModelClaim | ClaimProblem> {
  const found = await lockClaim(tx, claim);
  const pool = found === null ? null : await readPool(tx, found.pool);
  if (found === null || pool === null) return { problem: 'missing' };
  const refused = by.decide(pool.snapshot, found.id);
  if (refused !== null) return { problem: 'refused', ...refused };
  const [first, ...more] = assigned(change);
  if (first !== undefined) {
    const all = more.reduce((joined, next) => sql`${joined}, ${next}`, first);
    await tx.run(sql`UPDATE model_claims SET ${all} WHERE id = ${found.id}`);
    const event = { claimId: found.id, kind: 'changed', message: Object.keys(change).join(', '), actor: by.actor };
    await recordModelEvent(tx, { ...event, data: change });
    await markChanged(tx, found.pool);
  }
  return (await readClaim(tx, found.id, everything)) ?? { problem: 'missing' };
}

/** Carried out once nothing is in flight; asked again it changes nothing. */
export async function askSleep(tx: Runner, claim: string, actor: string): Promise<ModelClaim | null> {
  const found = await lockClaim(tx, claim);
  if (found === null) return null;
  const asked = await tx.run(sql`
    UPDATE model_claims c SET sleep_asked = true, wake_asked_at = NULL WHERE id = ${found.id} AND NOT sleep_asked AND ending_at IS NULL
      AND EXISTS (SELECT 1 FROM model_engines e WHERE e.claim_id = c.id AND e.phase = 'ACTIVE')`);
  if (asked === 1) {
    await recordModelEvent(tx, { claimId: found.id, kind: 'sleep', message: 'asked for by hand', actor });
    await markChanged(tx, found.pool);
  }
  return readClaim(tx, found.id, everything);
}

/** Off the route here and now: its engines are ordered to stop, and it is over when the last is gone. */
export async function endClaim(tx: Runner, claim: string, actor: string): Promise<ModelClaim | null> {
  const found = await lockClaim(tx, claim);
  if (found === null) return readClaim(tx, claim, everything);
  const ending = await tx.run(sql`
    UPDATE model_claims SET ending_at = now(), wake_asked_at = NULL, sleep_asked = false, reason = NULL WHERE id = ${found.id} AND ending_at IS NULL`);
  if (ending === 1) {
    await recordModelEvent(tx, { claimId: found.id, kind: 'ending', message: 'its engines drain and stop', actor });
    await tx.run(sql`DELETE FROM model_holds WHERE claim_id = ${found.id}`);
    const engines = await tx.rows<{ id: string }>(
      sql`SELECT id FROM model_instances WHERE claim_id = ${found.id} AND closed_at IS NULL ORDER BY id`,
    );
    for (const { id } of engines) await giveOrder(tx, { instanceId: id, kind: 'stop', message: 'its claim ends' });
    await markChanged(tx, found.pool);
    await refreshClaims(tx, found.pool);
  }
  return readClaim(tx, found.id, everything);
}
