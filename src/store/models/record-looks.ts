import type { MemberLook } from '../../contract/index.js';
import type { Database, Runner } from '../database.js';
import type { ModelStore } from '../model-store.js';
import { json, sql } from '../sql.js';
import { closeOrphans } from './close-orphans.js';
import { makeDue, unreadClaims } from './due-orders.js';
import { type KnownEngine, lookAtEngines, readEngines } from './look-at-engines.js';
import { lockPool, markChanged } from './pool-lock.js';
import { readPool } from './read-snapshot.js';
import { refreshClaims } from './refresh-claims.js';
import { isSilent } from './sql-words.js';

type Looked = Awaited<ReturnType<ModelStore['recordLooks']>>;

/** Of members that run there; what belongs to no such member is to be removed. */
async function poolsOf(db: Runner, node: string, looks: readonly MemberLook[]): Promise<ReadonlyMap<string, string>> {
  const ids = looks.map((look) => look.memberSessionId);
  const rows = await db.rows<{ session_id: string; pool: string }>(sql`
    SELECT m.session_id, m.pool FROM model_members m
    WHERE m.session_id = ANY(${ids}::text[]) AND m.node = ${node} AND m.session_state = 'RUNNING' ORDER BY m.pool`);
  return new Map(rows.map((row) => [row.session_id, row.pool]));
}

const strangers = (look: MemberLook, known: readonly KnownEngine[]): string[] => {
  const ids = new Set(known.map(({ id }) => id));
  const seen = [...look.engines.map((engine) => engine.instanceId), ...look.unknownEngines];
  return [...new Set(seen)].filter((id) => !ids.has(id)).toSorted();
};

/** True where a hole came or went. */
async function lookAtMember(tx: Runner, look: MemberLook, unknown: readonly string[]): Promise<boolean> {
  const before = await tx.first<{ differs: boolean }>(sql`
    SELECT ${isSilent} OR m.unreachable_at IS NOT NULL OR m.unknown_engines <> ${unknown}::text[] AS differs
    FROM pool_members m WHERE m.session_id = ${look.memberSessionId}`);
  await tx.run(sql`
    UPDATE pool_members SET looked_at = now(), unreachable_at = NULL, unknown_engines = ${unknown}::text[], look_seconds = ${look.everySeconds ?? 10}::float8, cached = ${look.cachedArtifacts}::text[]
    WHERE session_id = ${look.memberSessionId}`);
  return before?.differs ?? false;
}

/** Of devices that the member holds; one that could not be measured now is not known now. True where one differs. */
async function lookAtGpus(tx: Runner, look: MemberLook): Promise<boolean> {
  const changed = await tx.run(sql`
    INSERT INTO pool_gpus AS g (session_id, node, device_id, usable_bytes)
    SELECT m.session_id, m.node, d.id, CASE WHEN d."usableBytes" > 0 THEN d."usableBytes" END
    FROM jsonb_to_recordset(${json(look.devices)}::jsonb) AS d(id text, "usableBytes" bigint)
    JOIN member_gpus m ON m.device_id = d.id AND m.session_id = ${look.memberSessionId}
    ON CONFLICT (session_id, node, device_id) DO UPDATE SET usable_bytes = excluded.usable_bytes, measured_at = now()
      WHERE g.usable_bytes IS DISTINCT FROM excluded.usable_bytes`);
  return changed > 0;
}

async function lookAt(
  tx: Runner,
  look: MemberLook,
): Promise<{ readonly remove: readonly string[]; readonly changed: boolean }> {
  const known = await readEngines(tx, look);
  const remove = strangers(look, known);
  const holes = await lookAtMember(tx, look, remove);
  const gpus = await lookAtGpus(tx, look);
  const engines = await lookAtEngines(tx, look, known);
  return { remove, changed: holes || gpus || engines };
}

interface PoolLooks {
  readonly remove: readonly string[];
  readonly signal: readonly string[];
  readonly changed: boolean;
}

async function lookAtPool(tx: Runner, pool: string, looks: readonly MemberLook[]): Promise<PoolLooks> {
  await lockPool(tx, pool);
  await closeOrphans(tx, pool);
  const remove: string[] = [];
  let changed = false;
  for (const look of looks) {
    const looked = await lookAt(tx, look);
    remove.push(...looked.remove);
    changed ||= looked.changed;
  }
  if (changed) {
    await markChanged(tx, pool);
    await refreshClaims(tx, pool);
  }
  await makeDue(tx, pool);
  return { remove, signal: await unreadClaims(tx, pool), changed };
}

/** Each pool in a transaction of its own; whether a planner has to look is asked of what then stands. */
export async function recordLooks(
  db: Database,
  node: string,
  { looks, isDue }: { readonly looks: readonly MemberLook[]; readonly isDue: Parameters<ModelStore['recordLooks']>[2] },
): Promise<Looked> {
  const pools = await poolsOf(db, node, looks);
  const homeless = looks.filter((look) => !pools.has(look.memberSessionId));
  const remove = homeless.flatMap((look) => strangers(look, []));
  const kick: string[] = [];
  const signal: string[] = [];
  for (const pool of new Set(pools.values())) {
    const own = looks.filter((look) => pools.get(look.memberSessionId) === pool);
    const looked = await db.transaction((tx) => lookAtPool(tx, pool, own));
    remove.push(...looked.remove);
    signal.push(...looked.signal);
    const read = looked.changed ? null : await db.transaction((tx) => readPool(tx, pool), 'snapshot');
    if (looked.changed || (read !== null && isDue(read.snapshot, read.nowMs))) kick.push(pool);
  }
  return { kick, signal, remove };
}
