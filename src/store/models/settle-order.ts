import type { OrderKind, OrderResult } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { closeOrphans } from './close-orphans.js';
import { failEngine } from './fail-engine.js';
import { recordModelEvent } from './model-events.js';
import { lockPool, markChanged } from './pool-lock.js';
import { refreshClaims } from './refresh-claims.js';

interface Open {
  readonly id: string;
  readonly claim_id: string;
  readonly order_kind: OrderKind;
  readonly footprint_bytes: number;
}
type Result<Outcome extends OrderResult['outcome']> = Extract<OrderResult, { outcome: Outcome }>;

/** After something was in flight, and after a sleep that did not work. */
const BUSY_MS = 30_000;
const NO_SLEEP_MS = 60_000;
const settled = sql`order_kind = NULL, order_due_at = NULL, order_read_at = NULL`;
const inMs = (later: number) => sql`now() + ${later}::int * interval '1 ms'`;

async function ready(tx: Runner, { id, claim_id, order_kind }: Open, result: Result<'ready'>): Promise<void> {
  await tx.run(sql`
    UPDATE model_instances SET ${settled}, phase = 'ACTIVE', phase_since = now(), awake_since = now(), idle_since = now(), running = 0,
      waiting = 0, completed = NULL, limit_bytes = ${result.limitBytes}::bigint, limit_at = now(), kv_used_bytes = coalesce(${result.kvUsedBytes}::bigint, kv_used_bytes),
      host = ${result.host}, port = ${result.port}, message = NULL WHERE id = ${id}`);
  await tx.run(sql`
    UPDATE model_claims c SET reason = NULL, reason_message = '', reason_data = '{}', failed_for_good = NULL,
      start_ms = CASE WHEN ${order_kind === 'start'} THEN ${result.tookMs}::bigint ELSE start_ms END,
      wake_ms = CASE WHEN ${order_kind === 'wake'} THEN ${result.tookMs}::bigint ELSE wake_ms END,
      wake_asked_at = CASE WHEN EXISTS (SELECT 1 FROM model_engines e WHERE e.claim_id = c.id AND e.phase = 'SLEEPING') THEN wake_asked_at END
    WHERE c.id = ${claim_id} AND c.ending_at IS NULL`);
  const message = `${order_kind === 'wake' ? 'woke' : 'ready'} after ${(result.tookMs / 1000).toFixed(1)} s`;
  await recordModelEvent(tx, {
    claimId: claim_id,
    instanceId: id,
    kind: order_kind,
    to: 'ACTIVE',
    message,
    actor: 'node',
  });
}

/** A residue is believed where at least half of the footprint is gone: else its reservation is kept. */
async function asleep(tx: Runner, { id, claim_id, footprint_bytes }: Open, result: Result<'asleep'>): Promise<void> {
  const { residueBytes, hostBytes, tookMs } = result;
  const residue = residueBytes !== null && residueBytes * 2 <= footprint_bytes ? residueBytes : null;
  await tx.run(sql`
    UPDATE model_instances SET ${settled}, phase = 'SLEEPING', phase_since = now(), idle_since = now(), running = 0, waiting = 0,
      residue_bytes = ${residue}::bigint, last_residue_bytes = coalesce(${residue}::bigint, last_residue_bytes), host_bytes = ${hostBytes}::bigint
    WHERE id = ${id}`);
  await tx.run(sql`
    UPDATE model_claims SET sleep_asked = false, reason = 'EngineSleeping', reason_message = 'asleep until it is asked for', reason_data = '{}'
    WHERE id = ${claim_id} AND ending_at IS NULL AND NOT EXISTS (SELECT 1 FROM model_engines e WHERE e.claim_id = ${claim_id} AND e.phase = 'ACTIVE')`);
  const told = residue === null ? 'what it left is not known' : `${residue} bytes are left of it`;
  const message = `asleep after ${(tookMs / 1000).toFixed(1)} s; ${told}`;
  await recordModelEvent(tx, {
    claimId: claim_id,
    instanceId: id,
    kind: 'sleep',
    to: 'SLEEPING',
    message,
    actor: 'node',
  });
}

/** It serves: back on the route with this. */
async function busy(tx: Runner, { id, claim_id }: Open, { running, waiting }: Result<'busy'>): Promise<void> {
  await tx.run(sql`
    UPDATE model_instances SET ${settled}, running = ${running}::int, waiting = ${waiting}::int, idle_since = NULL, no_sleep_before = ${inMs(BUSY_MS)}
    WHERE id = ${id}`);
  const message = `not slept: ${running ?? '?'} in flight, ${waiting ?? '?'} waiting`;
  await recordModelEvent(tx, {
    claimId: claim_id,
    instanceId: id,
    kind: 'sleep',
    reason: 'busy',
    message,
    actor: 'node',
  });
}

async function gone(tx: Runner, { id, claim_id }: Open): Promise<void> {
  await tx.run(sql`
    UPDATE model_instances SET ${settled}, closed_at = now(), close_reason = coalesce(message, 'stopped') WHERE id = ${id}`);
  await tx.run(sql`UPDATE model_instances SET moves_from = NULL WHERE moves_from = ${id} AND closed_at IS NULL`);
  await recordModelEvent(tx, {
    claimId: claim_id,
    instanceId: id,
    kind: 'stopped',
    message: 'it is gone',
    actor: 'node',
  });
}

async function failed(tx: Runner, open: Open, { message, whose }: Result<'failed'>): Promise<void> {
  const { id, claim_id, order_kind } = open;
  const told = { claimId: claim_id, instanceId: id, message, actor: 'node' };
  if (order_kind === 'sleep') {
    // What it is now is not known: without a limit that was read it is off the route until a look reads one.
    await tx.run(sql`
      UPDATE model_instances SET ${settled}, limit_bytes = NULL, running = NULL, waiting = NULL, idle_since = NULL, message = ${message},
        no_sleep_before = ${inMs(NO_SLEEP_MS)} WHERE id = ${id}`);
    await recordModelEvent(tx, { ...told, kind: 'sleep', reason: 'failed' });
    return;
  }
  if (order_kind === 'wake')
    await tx.run(sql`
    UPDATE pools p SET wake_failures = wake_failures + 1 FROM model_instances i WHERE i.id = ${id} AND p.name = i.pool`);
  const isStart = order_kind === 'start';
  await failEngine(tx, {
    instanceId: id,
    claimId: claim_id,
    kind: 'failed',
    message,
    isForGood: isStart && whose === 'claim',
    avoids: isStart,
  });
}

async function apply(tx: Runner, open: Open, result: OrderResult): Promise<void> {
  const { order_kind: kind } = open;
  if (result.outcome === 'gone') {
    if (kind === 'stop') return gone(tx, open);
    return failed(tx, open, { outcome: 'failed', message: `it was gone when it was to ${kind}`, whose: 'node' });
  }
  if (kind === 'stop') return;
  if (result.outcome === 'failed') return failed(tx, open, result);
  if (result.outcome === 'ready' && kind !== 'sleep') return ready(tx, open, result);
  if (kind === 'sleep' && result.outcome === 'asleep') return asleep(tx, open, result);
  if (kind === 'sleep' && result.outcome === 'busy') return busy(tx, open, result);
}

/** Only the order with this number is settled: an older result, or the same again, changes nothing. */
export async function settleOrder(
  tx: Runner,
  instanceId: string,
  { seq, result }: { readonly seq: number; readonly result: OrderResult },
): Promise<{ readonly pool: string | null }> {
  const found = await tx.first<{ pool: string }>(sql`SELECT pool FROM model_instances WHERE id = ${instanceId}`);
  if (found === undefined) return { pool: null };
  await lockPool(tx, found.pool);
  await closeOrphans(tx, found.pool);
  const open = await tx.first<Open>(sql`
    SELECT i.id, i.claim_id, i.order_kind, c.footprint_bytes FROM model_instances i JOIN model_claims c ON c.id = i.claim_id
    WHERE i.id = ${instanceId} AND i.closed_at IS NULL AND i.order_kind IS NOT NULL AND i.order_seq = ${seq}`);
  if (open !== undefined) {
    await apply(tx, open, result);
    await markChanged(tx, found.pool);
    await refreshClaims(tx, found.pool);
  }
  return found;
}
