import type { PoolSnapshot } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { isSilent, ms } from './sql-words.js';

type Claim = PoolSnapshot['claims'][number];
type Instance = PoolSnapshot['instances'][number];

/** Beside what the agent says: engines that only leave, and those that nobody knows, take room that no account names. */
const HOLES = sql`
  array_remove(ARRAY[
    CASE WHEN ${isSilent} THEN 'agent silent' END,
    CASE WHEN m.unreachable_at IS NOT NULL THEN 'its node gave no answer about limits' END,
    CASE WHEN cardinality(m.unknown_engines) > 0 THEN 'an engine of no claim: ' || array_to_string(m.unknown_engines, ', ') END,
    (SELECT 'still leaving: ' || count(*) || CASE count(*) WHEN 1 THEN ' engine' ELSE ' engines' END FROM model_engines e
      JOIN instance_gpus ig ON ig.instance_id = e.id
      WHERE ig.node = g.node AND ig.device_id = g.device_id AND (e.phase IN ('STOPPING', 'FAILED')) HAVING count(*) > 0)], NULL)`;

export const readGpus = (tx: Runner, pool: string): Promise<PoolSnapshot['gpus']> =>
  tx.rows<PoolSnapshot['gpus'][number]>(sql`
    SELECT g.name, g.session_id AS member, g.device_id AS device, g.usable_bytes AS "usableBytes", to_json(${HOLES}) AS holes
    FROM member_gpus g JOIN model_members m ON m.session_id = g.session_id WHERE g.pool = ${pool} ORDER BY g.name`);

/** Host memory counts engines that are awake where all of them were measured; sleepers are charged one by one. */
export const readMembers = (tx: Runner, pool: string): Promise<PoolSnapshot['members']> =>
  tx.rows<PoolSnapshot['members'][number]>(sql`
    SELECT m.session_id AS "sessionId", coalesce(m.node, '') AS node, m.state, coalesce(m.memory_bytes, 0) AS "hostMemoryBytes",
      (SELECT CASE WHEN bool_and(e.host_bytes IS NOT NULL) THEN coalesce(sum(e.host_bytes), 0)::bigint END
        FROM model_engines e WHERE e.session_id = m.session_id AND e.phase <> 'SLEEPING') AS "hostUsedBytes", to_json(m.cached) AS cached
    FROM model_members m WHERE m.pool = ${pool} AND m.session_state IS NOT NULL ORDER BY m.ordinal`);

export const readClaims = (tx: Runner, pool: string): Promise<readonly Claim[]> =>
  tx.rows<Claim>(sql`
    SELECT c.id, c.model_name AS model, ${ms(sql`c.created_at`)} AS "createdMs", c.footprint_bytes AS "footprintBytes",
      greatest(c.kv_floor_bytes, c.kv_min_bytes) AS "kvFloorBytes", c.kv_floor_bytes AS "declaredFloorBytes",
      c.kv_min_bytes AS "kvMinBytes", c.kv_max_bytes AS "kvMaxBytes", c.priority, c.tensor * c.pipeline AS "gpusPerInstance",
      c.replicas, c.pinned, (c.sleep->>'never')::boolean AS "neverSleeps", (c.sleep->>'afterSeconds')::float8 * 1000 AS "sleepAfterMs",
      (c.sleep->>'minimumAwakeSeconds')::float8 * 1000 AS "minimumAwakeMs", c.artifact_url AS "artifactUrl", project_path(c.project_id) AS project,
      ${ms(sql`c.wake_asked_at`)} AS "wakeAskedMs", ${ms(sql`c.last_request_at`)} AS "lastRequestMs", c.sleep_asked AS "sleepAsked",
      c.ending_at IS NOT NULL AS "isEnding", c.failed_for_good AS "failedForGood",
      (SELECT coalesce(json_agg(a ORDER BY a->>'gpu'), '[]') FROM jsonb_array_elements(c.avoid) a
        WHERE (a->>'untilMs')::float8 > ${ms(sql`now()`)}) AS avoid
    FROM model_claims c WHERE c.pool = ${pool} AND c.ended_at IS NULL ORDER BY c.created_at, c.id`);

export const readInstances = (tx: Runner, pool: string): Promise<readonly Instance[]> =>
  tx.rows<Instance>(sql`
    SELECT e.id, e.claim_id AS "claimId", e.replica, e.session_id AS member, to_json(e.gpus) AS gpus, e.phase, e.order_kind AS order,
      e.moves_from AS "movesFrom", e.limit_bytes AS "limitBytes", e.planned_bytes AS "plannedBytes", e.kv_used_bytes AS "kvUsedBytes",
      e.residue_bytes AS "residueBytes", e.last_residue_bytes AS "lastResidueBytes",
      CASE WHEN e.phase = 'SLEEPING' THEN e.host_bytes END AS "hostBytes", e.running, e.waiting,
      ${ms(sql`e.idle_since`)} AS "idleSinceMs", ${ms(sql`e.awake_since`)} AS "awakeSinceMs", ${ms(sql`e.phase_since`)} AS "phaseSinceMs",
      e.short_before AS "shortBefore", ${ms(sql`e.no_sleep_before`)} AS "noSleepBeforeMs"
    FROM model_engines e WHERE e.pool = ${pool} ORDER BY e.id`);

export const readHolds = (tx: Runner, pool: string): Promise<PoolSnapshot['holds']> =>
  tx.rows<PoolSnapshot['holds'][number]>(sql`
    SELECT claim_id AS "claimId", replica, to_json(gpus) AS gpus, bytes, ${ms(sql`until`)} AS "untilMs"
    FROM model_holds WHERE pool = ${pool} ORDER BY claim_id, replica`);
