import { type Device, type EngineOrder, segmentName } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { ModelStore } from '../model-store.js';
import { sql } from '../sql.js';

const START_DEADLINE_SECONDS = 1800;
const DRAIN_SECONDS = 90;

type Answer = Awaited<ReturnType<ModelStore['engineOrder']>>;
type Row = Pick<
  EngineOrder,
  | 'claimId'
  | 'modelName'
  | 'memberSessionId'
  | 'anchorKernelId'
  | 'anchorAttempt'
  | 'engine'
  | 'image'
  | 'artifactUrl'
  | 'artifactSha256'
  | 'args'
  | 'parallel'
  | 'memoryBytes'
  | 'cpuMilli'
  | 'limitBytes'
  | 'maximumFootprintBytes'
> & { readonly sealed_api_key: Buffer; readonly pool: string; readonly sealed_environment: Buffer | null };

const readDevices = (tx: Runner, instanceId: string): Promise<Device[]> =>
  tx.rows<Device>(sql`
    SELECT d.id, d.device_index AS index, d.model, d.memory_bytes AS "memoryBytes", d.simulated, d.healthy, d.sharing, d.parent_id AS "parentId"
    FROM instance_gpus g JOIN devices d ON d.node = g.node AND d.id = g.device_id WHERE g.instance_id = ${instanceId}
    ORDER BY d.device_index, d.id`);

/** Only for the node on which its member runs now, while the engine is to live; null otherwise. */
export async function engineOrder(tx: Runner, node: string, instanceId: string): Promise<Answer> {
  const row = await tx.first<Row>(sql`
    SELECT c.id AS "claimId", c.model_name AS "modelName", e.session_id AS "memberSessionId", m.kernel_id AS "anchorKernelId",
      m.attempt AS "anchorAttempt", c.engine, s.spec->>'image' AS image, c.artifact_url AS "artifactUrl", c.artifact_sha256 AS "artifactSha256",
      c.args, json_build_object('tensor', c.tensor, 'pipeline', c.pipeline) AS parallel, m.memory_bytes AS "memoryBytes",
      m.cpu_milli AS "cpuMilli", coalesce(e.planned_bytes, 0) AS "limitBytes", c.footprint_bytes AS "maximumFootprintBytes",
      e.sealed_api_key, p.name AS pool, p.sealed_environment
    FROM model_engines e JOIN model_members m ON m.session_id = e.session_id JOIN sessions s ON s.id = m.session_id
    JOIN model_claims c ON c.id = e.claim_id JOIN pools p ON p.name = e.pool
    WHERE e.id = ${instanceId} AND e.node = ${node} AND m.node = ${node} AND e.phase NOT IN ('STOPPING', 'FAILED')`);
  if (row === undefined) return null;
  const { sealed_api_key: sealedApiKey, pool, sealed_environment: sealedEnvironment, ...rest } = row;
  const order = {
    ...rest,
    instanceId,
    devices: await readDevices(tx, instanceId),
    ipcName: segmentName(instanceId),
    startDeadlineSeconds: START_DEADLINE_SECONDS,
    drainSeconds: DRAIN_SECONDS,
  };
  return { order, sealedApiKey, pool, sealedEnvironment };
}
