import type { Page, PageQuery, QueueEntry, Slots } from '../../contract/index.js';
import { decodeCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import { policyOf } from '../settings/policy.js';
import { sql } from '../sql.js';
import type { QueuePlace } from './read-pending.js';
import { type QueueState, reasonView } from './reason-view.js';
import { WAITING_COLUMNS, type WaitingRow } from './waiting-row.js';

interface GroupRow {
  readonly name: string;
  readonly policy: unknown;
  readonly id: string | null;
  readonly session: string | null;
  readonly queueRank: number | null;
  readonly submittedAt: string | null;
}

export async function readQueueState(tx: Runner, group: string): Promise<QueueState | null> {
  const row = await tx.first<GroupRow>(sql`
    SELECT g.name, g.policy, b.id, b.name AS session, b.queue_rank AS "queueRank", b.submitted_at AS "submittedAt"
    FROM resource_groups g LEFT JOIN sessions b ON b.id = g.blocked_by AND b.state = 'PENDING' WHERE g.name = ${group}`);
  if (row === undefined) return null;
  const { name, policy, id, session, queueRank, submittedAt } = row;
  const blocker =
    id === null || queueRank === null || submittedAt === null
      ? null
      : { id, name: session ?? id, queueRank, submittedAt };
  return { name, policy: policyOf(policy), blocker };
}

/** Counted from the queue's index alone. */
export async function readAhead(
  tx: Runner,
  group: string,
  place: QueuePlace,
): Promise<{ readonly ahead: number; readonly gpusAhead: number }> {
  const row = await tx.first<{ ahead: number; gpusAhead: number }>(sql`
    SELECT count(*)::int AS ahead, coalesce(sum(gpu_count), 0)::bigint AS "gpusAhead" FROM sessions
    WHERE group_name = ${group} AND state = 'PENDING'
      AND (queue_rank, submitted_at, id) < (${place.queueRank}::int, ${place.submittedAt}::timestamptz, ${place.id}::text)`);
  return row ?? { ahead: 0, gpusAhead: 0 };
}

type EntryRow = WaitingRow &
  Slots & { readonly name: string; readonly user: string; readonly project: string; readonly priority: number };

const readPage = (
  tx: Runner,
  group: string,
  { after, limit }: { readonly after: QueuePlace | null; readonly limit: number },
) => {
  const behind =
    after === null
      ? sql`true`
      : sql`(queue_rank, submitted_at, id) > (${after.queueRank}::int, ${after.submittedAt}::timestamptz, ${after.id}::text)`;
  return tx.rows<EntryRow>(sql`
    SELECT ${WAITING_COLUMNS}, s.name, u.name AS user, p.name AS project, s.priority, s.cpu_milli AS "cpuMilli",
      s.memory_bytes AS "memoryBytes", s.gpu_count AS "gpuCount", s.gpu_memory_bytes AS "gpuMemoryBytes"
    FROM (SELECT * FROM sessions WHERE group_name = ${group} AND state = 'PENDING' AND ${behind}
          ORDER BY queue_rank, submitted_at, id LIMIT ${limit}) s
    JOIN users u ON u.id = s.user_id JOIN projects p ON p.id = s.project_id
    ORDER BY s.queue_rank, s.submitted_at, s.id`);
};

interface Numbered {
  readonly row: EntryRow;
  readonly position: number;
  readonly gpusAhead: number;
}

function toEntry({ row, ...place }: Numbered, queue: QueueState): QueueEntry {
  const { reason, message, blockedBy, expectedStart, reservedNodes } = reasonView(row, queue);
  const { cpuMilli, memoryBytes, gpuCount, gpuMemoryBytes, name, user, project, priority, submittedAt } = row;
  const slots = { cpuMilli, memoryBytes, gpuCount, gpuMemoryBytes };
  const shown = { sessionId: row.id, name, user, project, priority, slots, submittedAt, reason, message, blockedBy };
  return { ...place, ...shown, expectedStart, reservedNodes: [...reservedNodes] };
}

/** Places and GPUs ahead, counted on from the first row of the page. */
function numbered(
  rows: readonly EntryRow[],
  first: { readonly ahead: number; readonly gpusAhead: number },
): Numbered[] {
  let { gpusAhead } = first;
  return rows.map((row, index) => {
    const entry = { row, position: first.ahead + index + 1, gpusAhead };
    gpusAhead += row.gpuCount;
    return entry;
  });
}

const placeOf = (cursor: string | undefined): QueuePlace | null => {
  const [submittedAt, rank, id] = decodeCursor(cursor, 3) ?? [];
  if (submittedAt === undefined || rank === undefined || id === undefined || !/^-?\d{1,3}$/.test(rank)) return null;
  return { queueRank: Number(rank), submittedAt, id };
};

/** One consistent view: positions, reasons and the blocker belong together. */
export async function readQueue(tx: Runner, group: string, query: PageQuery): Promise<Page<QueueEntry> | null> {
  const queue = await readQueueState(tx, group);
  if (queue === null) return null;
  const rows = await readPage(tx, group, { after: placeOf(query.cursor), limit: query.limit + 1 });
  const first = rows[0];
  const ahead =
    query.cursor === undefined || first === undefined ? { ahead: 0, gpusAhead: 0 } : await readAhead(tx, group, first);
  return pageOfRows(numbered(rows, ahead), query, {
    item: (entry) => toEntry(entry, queue),
    key: ({ row }) => [row.submittedAt, String(row.queueRank), row.id],
  });
}
