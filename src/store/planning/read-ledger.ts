import type { Placed, QuotaScopeKind, Slots } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { lockQuotas, type QuotaScopeId, readQuotas } from '../settings/held.js';
import { json, sql } from '../sql.js';
import { deviceKey, type Ledger } from './bookable.js';

interface SessionRow {
  readonly id: string;
  readonly user_id: string;
  readonly project_id: string;
  readonly domain_id: string;
}

/** Locked in id order: a cancel that was first makes the row fall out, one that comes now waits for this commit. */
async function lockSessions(tx: Runner, group: string, placed: readonly Placed[]): Promise<readonly SessionRow[]> {
  const asked = placed.map(({ sessionId, version }) => ({ id: sessionId, version }));
  return tx.rows<SessionRow>(sql`
    SELECT s.id, s.user_id, s.project_id, s.domain_id
    FROM sessions s JOIN jsonb_to_recordset(${json(asked)}::jsonb) AS a(id text, version int) ON a.id = s.id
    WHERE s.state = 'PENDING' AND s.version = a.version AND s.group_name = ${group} AND s.stop_requested_at IS NULL
    ORDER BY s.id FOR NO KEY UPDATE OF s`);
}

async function readSessions(tx: Runner, rows: readonly SessionRow[]): Promise<Ledger['sessions']> {
  const kernels = await tx.rows<Slots & { session_id: string; id: string }>(sql`
    SELECT session_id, id, cpu_milli AS "cpuMilli", memory_bytes AS "memoryBytes", gpu_count AS "gpuCount",
      gpu_memory_bytes AS "gpuMemoryBytes"
    FROM kernels WHERE session_id = ANY(${rows.map((row) => row.id)})`);
  const slotsOf = new Map<string, Map<string, Slots>>(rows.map((row) => [row.id, new Map<string, Slots>()]));
  for (const { session_id, id, ...slots } of kernels) slotsOf.get(session_id)?.set(id, slots);
  const scopesOf = (row: SessionRow) =>
    new Map([
      ['user', row.user_id],
      ['project', row.project_id],
      ['domain', row.domain_id],
    ]);
  return new Map(
    rows.map((row) => [row.id, { kernels: slotsOf.get(row.id) ?? new Map<string, Slots>(), scopes: scopesOf(row) }]),
  );
}

async function lockNodes(tx: Runner, group: string, names: readonly string[]): Promise<Ledger['nodes']> {
  const rows = await tx.rows<{ node: string; cpuMilli: number; memoryBytes: number; gpuCount: number }>(sql`
    SELECT u.node, u.cpu_milli_limit - u.cpu_milli_used AS "cpuMilli", u.memory_bytes_limit - u.memory_bytes_used AS "memoryBytes",
      u.gpu_count_limit - u.gpu_count_used AS "gpuCount"
    FROM node_use u JOIN nodes n ON n.name = u.node
    WHERE u.node = ANY(${names}) AND n.group_name = ${group} AND n.state = 'READY' AND n.removed_at IS NULL
    ORDER BY u.node FOR NO KEY UPDATE OF u`);
  return new Map(rows.map(({ node, ...free }) => [node, free]));
}

async function readFreeDevices(tx: Runner, names: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await tx.rows<{ node: string; id: string }>(sql`
    SELECT d.node, d.id FROM devices d
    WHERE d.node = ANY(${names}) AND d.healthy
      AND NOT EXISTS (SELECT 1 FROM device_holds h WHERE h.node = d.node AND h.device_id = d.id AND h.released_at IS NULL)
    ORDER BY d.node, d.id`);
  return new Set(rows.map((row) => deviceKey(row.node, row.id)));
}

async function readLockedQuotas(tx: Runner, rows: readonly SessionRow[]): Promise<Ledger['quotas']> {
  const ids = (scope: QuotaScopeKind, column: keyof SessionRow): readonly QuotaScopeId[] =>
    [...new Set(rows.map((row) => row[column]))].map((id) => ({ scope, id }));
  const scopes = [...ids('user', 'user_id'), ...ids('project', 'project_id'), ...ids('domain', 'domain_id')];
  return (await lockQuotas(tx, scopes)) ? readQuotas(tx, scopes) : [];
}

/** Reads, under locks that are taken in one order, all that the choices depend on. */
export async function lockLedger(tx: Runner, group: string, placed: readonly Placed[]): Promise<Ledger> {
  const names = [...new Set(placed.flatMap((choice) => choice.kernels.map((kernel) => kernel.node)))];
  const rows = await lockSessions(tx, group, placed);
  return {
    sessions: await readSessions(tx, rows),
    quotas: await readLockedQuotas(tx, rows),
    nodes: await lockNodes(tx, group, names),
    freeDevices: await readFreeDevices(tx, names),
  };
}
