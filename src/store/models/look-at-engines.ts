import type { InstancePhase, MemberLook, OrderKind } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';
import { failEngine } from './fail-engine.js';
import { measure } from './measure.js';
import { recordModelEvent } from './model-events.js';
import { phaseSeen } from './phase-seen.js';

type Look = MemberLook['engines'][number];

export interface KnownEngine {
  readonly id: string;
  readonly claim_id: string;
  readonly phase: InstancePhase;
  readonly order_kind: OrderKind | null;
  readonly restarts: number;
  readonly completed: number | null;
  readonly footprint_bytes: number;
  readonly devices: readonly string[];
  /** Its phase is older than the look. */
  readonly phase_is_old: boolean;
  readonly limit_is_old: boolean;
}

/** Clocks of nodes differ a little, and a look takes a moment. */
const MARGIN_MS = 2_000;

export const readEngines = (tx: Runner, { memberSessionId, at }: MemberLook): Promise<KnownEngine[]> => {
  const before = (moment: Sql) =>
    sql`coalesce(${moment} < ${at}::timestamptz - ${MARGIN_MS}::int * interval '1 ms', true)`;
  return tx.rows<KnownEngine>(sql`
    SELECT e.id, e.claim_id, e.phase, e.order_kind, e.restarts, e.completed, c.footprint_bytes,
      (SELECT json_agg(g.device_id) FROM instance_gpus g WHERE g.instance_id = e.id) AS devices,
      ${before(sql`e.phase_since`)} AS phase_is_old, ${before(sql`e.limit_at`)} AS limit_is_old
    FROM model_engines e JOIN model_claims c ON c.id = e.claim_id WHERE e.session_id = ${memberSessionId} ORDER BY e.id`);
};

/** The most that it takes of one of its GPUs. */
export function takenBytes({ devices }: KnownEngine, { memoryBytes }: Look): number | null {
  const amounts = devices.flatMap((device) => memoryBytes?.[device] ?? []);
  return amounts.length === devices.length ? Math.max(...amounts) : null;
}

/** The look may have found an engine that was not ready yet: what its start or wake settled says more than a load that was not read. */
const isFromBefore = ({ phase_is_old }: KnownEngine, { running, waiting }: Look): boolean =>
  !phase_is_old && (running === null || waiting === null);

/** Idle since the last moment with anything running, waiting or completed, or a change of phase; a load that cannot be read is none. */
function idleSince(known: KnownEngine, look: Look, phaseChanges: boolean): Sql {
  if (phaseChanges) return sql`now()`;
  const { running, waiting, completed } = look;
  if (isFromBefore(known, look)) return sql`idle_since`;
  if (running === null || waiting === null || completed === null || running + waiting > 0) return sql`NULL`;
  return completed === (known.completed ?? 0) ? sql`coalesce(idle_since, now())` : sql`now()`;
}

async function write(
  tx: Runner,
  known: KnownEngine,
  { look, phase }: { readonly look: Look; readonly phase: InstancePhase },
) {
  const phaseChanges = phase !== known.phase;
  const taken = takenBytes(known, look);
  const isAsleep = phase === 'SLEEPING';
  const keepsLoad = isFromBefore(known, look);
  // taken before it slept or woke, its memory is not what it has now: room that a sleeper gave away would be charged once more
  const saysMemory = known.phase_is_old;
  const residue = taken !== null && taken * 2 <= known.footprint_bytes ? taken : null;
  await tx.run(sql`
    UPDATE model_instances SET phase = ${phase}, phase_since = CASE WHEN ${phaseChanges} THEN now() ELSE phase_since END,
      awake_since = CASE WHEN ${phaseChanges && phase === 'ACTIVE'} THEN now() ELSE awake_since END,
      limit_bytes = CASE WHEN ${known.limit_is_old} THEN ${look.limitBytes}::bigint ELSE limit_bytes END,
      kv_used_bytes = coalesce(${look.kvUsedBytes}::bigint, kv_used_bytes), 
      running = CASE WHEN ${keepsLoad} THEN running ELSE ${look.running}::int END,
      waiting = CASE WHEN ${keepsLoad} THEN waiting ELSE ${look.waiting}::int END,
      completed = coalesce(${look.completed}::float8, completed), idle_since = ${idleSince(known, look, phaseChanges)},
      residue_bytes = CASE WHEN NOT ${isAsleep} THEN CASE WHEN ${phaseChanges} THEN NULL ELSE residue_bytes END
        WHEN ${!saysMemory || taken === null} THEN residue_bytes ELSE ${residue}::bigint END,
      last_residue_bytes = CASE WHEN ${isAsleep && saysMemory} THEN coalesce(${residue}::bigint, last_residue_bytes) ELSE last_residue_bytes END,
      host_bytes = CASE WHEN ${saysMemory} THEN coalesce(${look.hostBytes}::bigint, host_bytes) ELSE host_bytes END, restarts = greatest(restarts, ${look.restarts}::int),
      message = ${look.message}, looked_at = now()
    WHERE id = ${known.id} AND closed_at IS NULL`);
}

const fail = (tx: Runner, { id, claim_id }: KnownEngine, message: string): Promise<void> =>
  failEngine(tx, { instanceId: id, claimId: claim_id, kind: 'crashed', message, isForGood: false, avoids: true });

/** True where it changed what it is. */
async function lookAtEngine(tx: Runner, known: KnownEngine, look: Look): Promise<boolean> {
  const seen = known.phase_is_old ? phaseSeen(known, look.state) : known.phase;
  if (seen === 'gone') {
    await fail(tx, known, look.message ?? 'its engine exited and was not brought back');
    return true;
  }
  await write(tx, known, { look, phase: seen });
  if (look.restarts > known.restarts || (seen === 'STARTING' && known.phase !== 'STARTING')) {
    const message = look.message ?? 'its engine crashed and is started again';
    const event = {
      claimId: known.claim_id,
      instanceId: known.id,
      from: known.phase,
      to: seen,
      message,
      actor: 'node',
    };
    await recordModelEvent(tx, { ...event, kind: 'crashed', data: { restarts: look.restarts } });
  }
  if (known.phase_is_old) await measure(tx, { ...known, phase: seen }, look);
  return seen !== known.phase;
}

/** One that should be there and is not in the look has gone; one with an order is its order's business. */
const isMissing = ({ phase, order_kind, phase_is_old }: KnownEngine): boolean =>
  order_kind === null && phase_is_old && (phase === 'ACTIVE' || phase === 'SLEEPING' || phase === 'STARTING');

export async function lookAtEngines(tx: Runner, look: MemberLook, known: readonly KnownEngine[]): Promise<boolean> {
  const looks = new Map(look.engines.map((engine) => [engine.instanceId, engine]));
  let changed = false;
  for (const engine of known) {
    const seen = looks.get(engine.id);
    if (seen !== undefined) {
      if (await lookAtEngine(tx, engine, seen)) changed = true;
    } else if (isMissing(engine)) {
      await fail(tx, engine, 'its engine is not there any more');
      changed = true;
    }
  }
  return changed;
}
