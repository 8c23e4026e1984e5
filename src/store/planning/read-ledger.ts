import type { Placed, QuotaScopeKind, Sharing, Slots } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { lockQuotas, type QuotaScopeId, readQuotas } from '../settings/held.js';
import { sql } from '../sql.js';
import type { Ledger } from './bookable.js';
import { type DeviceRooms, deviceKey } from './device-room.js';
import type { LockedSession, LockedSessions } from './lock-sessions.js';

async function readSessions(tx: Runner, rows: readonly LockedSession[]): Promise<Ledger['sessions']> {
  const kernels = await tx.rows<Slots & { session_id: string; id: string }>(sql`
    SELECT session_id, id, cpu_milli AS "cpuMilli", memory_bytes AS "memoryBytes", gpu_count AS "gpuCount",
      gpu_memory_bytes AS "gpuMemoryBytes"
    FROM kernels WHERE session_id = ANY(${rows.map((row) => row.id)})`);
  const slotsOf = new Map<string, Map<string, Slots>>(rows.map((row) => [row.id, new Map<string, Slots>()]));
  for (const { session_id, id, ...slots } of kernels) slotsOf.get(session_id)?.set(id, slots);
  const scopesOf = (row: LockedSession) =>
    new Map([
      ['user', row.userId],
      ['project', row.projectId],
      ['domain', row.domainId],
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

interface DeviceRow {
  readonly node: string;
  readonly id: string;
  readonly memoryBytes: number;
  readonly sharing: Sharing;
  readonly isWhole: boolean;
  readonly shares: number;
  readonly sharedBytes: number;
}

/** What is promised of them is changed by passes alone, under the lock of the group that this commit has. */
async function readDevices(tx: Runner, names: readonly string[]): Promise<DeviceRooms> {
  const rows = await tx.rows<DeviceRow>(sql`
    SELECT d.node, d.id, d.memory_bytes AS "memoryBytes", d.sharing, coalesce(u.whole, 0) > 0 AS "isWhole",
      coalesce(u.shares, 0) AS shares, coalesce(u.shared_bytes, 0) AS "sharedBytes"
    FROM devices d LEFT JOIN device_use u ON u.node = d.node AND u.device_id = d.id
    WHERE d.node = ANY(${names}) AND d.healthy ORDER BY d.node, d.id`);
  return new Map(rows.map(({ node, id, ...room }) => [deviceKey(node, id), room]));
}

async function readLockedQuotas(tx: Runner, rows: readonly LockedSession[]): Promise<Ledger['quotas']> {
  const ids = (scope: QuotaScopeKind, column: 'userId' | 'projectId' | 'domainId'): readonly QuotaScopeId[] =>
    [...new Set(rows.map((row) => row[column]))].map((id) => ({ scope, id }));
  const scopes = [...ids('user', 'userId'), ...ids('project', 'projectId'), ...ids('domain', 'domainId')];
  return (await lockQuotas(tx, scopes)) ? readQuotas(tx, scopes) : [];
}

/** Reads, under locks that are taken in one order, all that the choices depend on. Their sessions are locked already. */
export async function lockLedger(
  tx: Runner,
  placed: readonly Placed[],
  { group, locked }: { readonly group: string; readonly locked: LockedSessions },
): Promise<Ledger> {
  const names = [...new Set(placed.flatMap((choice) => choice.kernels.map((kernel) => kernel.node)))];
  const rows = placed.flatMap((choice) => locked.get(choice.sessionId) ?? []);
  return {
    sessions: await readSessions(tx, rows),
    quotas: await readLockedQuotas(tx, rows),
    nodes: await lockNodes(tx, group, names),
    devices: await readDevices(tx, names),
  };
}
