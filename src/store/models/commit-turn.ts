import type { PoolPlan } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { CommittedTurn } from '../model-store.js';
import { sql } from '../sql.js';
import { accountErrors } from './account-errors.js';
import { makeDue, unreadClaims } from './due-orders.js';
import { giveOrder } from './give-order.js';
import { limitsToWrite } from './limits-to-write.js';
import { recordModelEvent } from './model-events.js';
import { placeEngine } from './place-engine.js';
import type { ReadPool } from './read-snapshot.js';
import { refreshClaims } from './refresh-claims.js';
import { callOff, writeHolds, writeLimits, writeReasons, writeShort } from './write-plan.js';

interface Turn {
  readonly read: ReadPool;
  readonly plan: PoolPlan;
  readonly sealApiKey: (instanceId: string) => Buffer;
}

async function giveOrders(tx: Runner, { orders }: PoolPlan): Promise<void> {
  for (const { instanceId, kind, because, for: whom } of orders) {
    const given = await giveOrder(tx, { instanceId, kind });
    if (given === undefined) continue;
    const event = { claimId: given.claim_id, instanceId, kind, message: because, actor: 'planner' };
    await recordModelEvent(tx, whom === null ? event : { ...event, data: { for: whom } });
  }
}

async function details(tx: Runner, { snapshot }: ReadPool): Promise<string> {
  const rows = await tx.rows<{ phase: string; count: number }>(sql`
    SELECT phase, count(*)::int AS count FROM model_claims WHERE pool = ${snapshot.pool} AND ended_at IS NULL GROUP BY phase ORDER BY phase`);
  const ready = snapshot.members.filter(({ state }) => state === 'READY').length;
  const claims = rows.map(({ phase, count }) => `${count} ${phase}`).join(', ');
  const counts = `${ready} of ${snapshot.members.length} members ready; ${claims === '' ? 'no claims' : claims}`;
  return [counts, ...accountErrors(snapshot)].join('\n');
}

/**
 * All of a plan in one transaction, under the lock that was taken before its snapshot: nobody changed a row of the pool since
 * then. What no longer holds of it (a member ended meanwhile, an order was given) is left out.
 */
export async function commitTurn(tx: Runner, { read, plan, sealApiKey }: Turn): Promise<CommittedTurn> {
  const { pool } = read.snapshot;
  for (const place of plan.places) await placeEngine(tx, { pool, plan, place, sealApiKey });
  await giveOrders(tx, plan);
  await writeLimits(tx, plan);
  await writeShort(tx, pool, plan.short);
  await writeHolds(tx, pool, plan.holds);
  await callOff(tx, plan);
  await writeReasons(tx, plan);
  await makeDue(tx, pool);
  await tx.run(sql`UPDATE pools SET turned_at = now(), planned_changes = ${read.changes} WHERE name = ${pool}`);
  await refreshClaims(tx, pool);
  return {
    claims: await unreadClaims(tx, pool),
    limits: await limitsToWrite(tx, pool),
    details: await details(tx, read),
  };
}
