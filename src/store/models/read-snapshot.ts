import type { PoolPolicy, PoolSnapshot } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { readClaims, readGpus, readHolds, readInstances, readMembers } from './snapshot-rows.js';
import { ms } from './sql-words.js';

interface PoolRow {
  readonly policy: PoolPolicy;
  readonly gpus: number;
  readonly members_wanted: number;
  readonly changes: number;
  readonly planned_changes: number;
  readonly now_ms: number;
}

export interface ReadPool {
  readonly snapshot: PoolSnapshot;
  readonly nowMs: number;
  /** `pools.changes` as it was read. */
  readonly changes: number;
}

interface Waiting {
  readonly state: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly refusal: string | null;
  readonly refused_by_quota: boolean;
}

/** What the first member that is not there waits for; of the last that was given up, where none is submitted now. */
async function waitsFor(
  tx: Runner,
  pool: string,
  { members_wanted }: PoolRow,
): Promise<PoolSnapshot['membersWaitFor']> {
  const row = await tx.first<Waiting>(sql`
    SELECT m.state, m.session_reason AS reason, m.session_message AS message, m.refusal->>'detail' AS refusal,
      coalesce(m.refusal->>'code' = 'quota_exceeded', false) AS refused_by_quota
    FROM model_members m WHERE m.pool = ${pool} ORDER BY m.state = 'WAITING', m.session_state IS NULL, m.ordinal LIMIT 1`);
  if (members_wanted === 0 && row === undefined)
    return { code: 'PoolEmpty', message: `no members of ${pool} are wanted` };
  const last = await tx.first<{ close_reason: string | null }>(sql`
    SELECT close_reason FROM pool_members WHERE pool = ${pool} AND closed_at IS NOT NULL AND ready_at IS NULL ORDER BY closed_at DESC LIMIT 1`);
  const isQuota = row?.refused_by_quota === true || row?.reason?.endsWith('_quota') === true;
  const told = row?.refusal ?? row?.message ?? last?.close_reason ?? null;
  const state =
    row === undefined ? 'no member of the pool runs' : `the members of ${pool} are ${row.state.toLowerCase()}`;
  return {
    code: isQuota ? 'QuotaExceeded' : 'PoolEmpty',
    message: told === null || told === '' ? state : `${state}: ${told}`,
  };
}

/** `tx` must be one consistent view, or hold the pool's lock. Null: there is no such pool. */
export async function readPool(tx: Runner, pool: string): Promise<ReadPool | null> {
  const row = await tx.first<PoolRow>(sql`
    SELECT policy, coalesce((member->>'gpus')::int, 1) AS gpus, members_wanted, changes, planned_changes, ${ms(sql`clock_timestamp()`)} AS now_ms
    FROM pools WHERE name = ${pool}`);
  if (row === undefined) return null;
  const members = await readMembers(tx, pool);
  const isThere = members.some(({ state }) => state === 'READY');
  const snapshot: PoolSnapshot = {
    pool,
    policy: row.policy,
    changed: row.changes > row.planned_changes,
    gpusPerMember: row.gpus,
    gpus: await readGpus(tx, pool),
    members,
    claims: [...(await readClaims(tx, pool))],
    instances: [...(await readInstances(tx, pool))],
    holds: await readHolds(tx, pool),
    membersWaitFor: isThere ? null : await waitsFor(tx, pool, row),
  };
  return { snapshot, nowMs: row.now_ms, changes: row.changes };
}
