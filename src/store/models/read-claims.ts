import type { ModelClaim, ModelInstance, Page, PageQuery } from '../../contract/index.js';
import { afterCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import type { ModelScope } from '../model-store.js';
import { allOf, type Sql, sql } from '../sql.js';
import { isLost, isRouted } from './sql-words.js';

type ClaimRow = Omit<ModelClaim, 'instances'>;
type InstanceRow = ModelInstance & { readonly claim_id: string };

const claimsWhere = (condition: Sql): Sql => sql`
  SELECT c.id, c.model_name AS "modelName", c.pool, project_path(c.project_id) AS project, c.artifact_url AS "artifactUrl", c.engine,
    c.args, c.tensor * c.pipeline AS "gpusPerInstance", c.replicas, c.pinned, c.hold, c.footprint_bytes AS "maximumFootprintBytes",
    c.kv_floor_bytes AS "kvFloorBytes", c.kv_min_bytes AS "kvMinBytes", c.kv_max_bytes AS "kvMaxBytes", c.priority, c.sleep, c.phase,
    CASE WHEN c.reason IS NOT NULL THEN json_build_object('code', c.reason, 'message', c.reason_message, 'data', c.reason_data) END AS reason,
    c.wake_asked_at AS "wakeAskedAt", c.last_request_at AS "lastRequestAt", c.start_ms / 1000.0::float8 AS "startSeconds",
    c.wake_ms / 1000.0::float8 AS "wakeSeconds", c.created_at AS "createdAt"
  FROM model_claims c WHERE ${condition}`;

const LOST = 'its node is not heard: it is off the route until that is heard again';

const visible = ({ projects }: ModelScope): Sql =>
  projects === null ? sql`true` : sql`project_path(c.project_id) = ANY(${projects}::text[])`;

async function readInstances(tx: Runner, claims: readonly string[]): Promise<ReadonlyMap<string, ModelInstance[]>> {
  const rows = await tx.rows<InstanceRow>(sql`
    SELECT e.claim_id, e.id, e.replica, e.session_id AS member, e.node, to_json(e.gpus) AS gpus, e.phase, ${isRouted} AS routable,
      e.moves_from AS "movesFrom", e.limit_bytes AS "limitBytes", e.planned_bytes AS "plannedBytes", e.kv_used_bytes AS "kvUsedBytes",
      e.residue_bytes AS "residueBytes", e.running, e.waiting, e.idle_since AS "idleSince", e.phase_since AS "phaseSince", e.restarts,
      CASE WHEN ${isLost} THEN ${LOST} ELSE e.message END AS message
    FROM model_engines e WHERE e.claim_id = ANY(${claims}::text[]) ORDER BY e.replica, e.id`);
  const byClaim = new Map<string, ModelInstance[]>();
  for (const { claim_id, ...instance } of rows) byClaim.set(claim_id, [...(byClaim.get(claim_id) ?? []), instance]);
  return byClaim;
}

async function withInstances<Row extends ClaimRow>(tx: Runner, rows: readonly Row[]): Promise<(Row & ModelClaim)[]> {
  const instances = await readInstances(
    tx,
    rows.map((row) => row.id),
  );
  return rows.map((row) => ({ ...row, instances: instances.get(row.id) ?? [] }));
}

/** By id, also when it has ended; by model name among those that live. */
export async function readClaim(tx: Runner, claim: string, scope: ModelScope): Promise<ModelClaim | null> {
  const rows = await tx.rows<ClaimRow>(sql`
    ${claimsWhere(sql`(c.id = ${claim} OR (c.model_name = ${claim} AND c.ended_at IS NULL)) AND ${visible(scope)}`)}
    ORDER BY c.id = ${claim} DESC LIMIT 1`);
  return (await withInstances(tx, rows))[0] ?? null;
}

export async function listClaims(
  tx: Runner,
  query: PageQuery & { readonly pool?: string | undefined },
  scope: ModelScope,
): Promise<Page<ModelClaim>> {
  const after = afterCursor(query, { created: sql`c.created_at`, id: sql`c.id`, newestFirst: false });
  const inPool = query.pool === undefined ? sql`true` : sql`c.pool = ${query.pool}`;
  const rows = await tx.rows<ClaimRow>(sql`
    ${claimsWhere(allOf([sql`c.ended_at IS NULL`, visible(scope), inPool, after]))} ORDER BY c.created_at, c.id LIMIT ${query.limit + 1}`);
  const claims = await withInstances(tx, rows);
  return pageOfRows(claims, query, { item: (claim) => claim, key: (claim) => [claim.createdAt, claim.id] });
}
