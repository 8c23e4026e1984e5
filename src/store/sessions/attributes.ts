import type { SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import type { SessionAttributes } from '../session-store.js';
import { sql } from '../sql.js';
import { slotsText } from './slots-text.js';

interface AttributesRow {
  readonly id: SessionId;
  readonly name: string;
  readonly user_name: string;
  readonly project: string;
  readonly group_name: string;
  readonly cpu_milli: number;
  readonly memory_bytes: number;
  readonly gpu_count: number;
  readonly gpu_memory_bytes: number;
}

export async function readAttributes(tx: Runner, sessionId: SessionId): Promise<SessionAttributes | null> {
  const row = await tx.first<AttributesRow>(sql`
    SELECT s.id, s.name, u.name AS user_name, p.name AS project, s.group_name,
           s.cpu_milli, s.memory_bytes, s.gpu_count, s.gpu_memory_bytes
    FROM sessions s JOIN users u ON u.id = s.user_id JOIN projects p ON p.id = s.project_id WHERE s.id = ${sessionId}`);
  if (row === undefined) return null;
  const slots = {
    cpuMilli: row.cpu_milli,
    memoryBytes: row.memory_bytes,
    gpuCount: row.gpu_count,
    gpuMemoryBytes: row.gpu_memory_bytes,
  };
  return {
    sessionId: row.id,
    name: row.name,
    user: row.user_name,
    project: row.project,
    group: row.group_name,
    slotsText: slotsText(slots),
  };
}
