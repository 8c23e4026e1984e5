import type { Page, PageQuery, QueueEntry, Slots } from '../../contract/index.js';
import { decodeCursor, pageOfRows } from '../cursor.js';
import type { Runner } from '../database.js';
import { policyOf } from '../settings/policy.js';
import { type Sql, sql } from '../sql.js';
import { waitingOf } from './group-order.js';
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

/** A place in the line: `place` first, which is 0 for all where the queue's own order holds. */
export interface LinePlace {
  readonly place: number;
  readonly queueRank: number;
  readonly submittedAt: string;
  readonly id: string;
}

export async function readQueueState(tx: Runner, group: string): Promise<QueueState | null> {
  const row = await tx.first<GroupRow>(sql`
    SELECT g.name, g.policy, b.id, b.name AS session, b.queue_rank AS "queueRank", b.submitted_at AS "submittedAt"
    FROM resource_groups g LEFT JOIN sessions b ON b.id = g.blocked_by AND b.state = 'PENDING' WHERE g.name = ${group}`);
  if (row === undefined) return null;
  const { name, policy, id, session, queueRank, submittedAt } = row;
  const known = policyOf(policy);
  const isNone = id === null || queueRank === null || submittedAt === null || known.order === 'fair-share';
  return { name, policy: known, blocker: isNone ? null : { id, name: session ?? id, queueRank, submittedAt } };
}

const ORDER = sql`queue_rank, submitted_at, id`;
/** Of two like these `place` is the same for all, and left out so that the queue's index serves. */
function beside({ policy }: QueueState, sign: '<' | '>', { place, queueRank, submittedAt, id }: LinePlace): Sql {
  const compare = sign === '<' ? sql`<` : sql`>`;
  const key = sql`${queueRank}::int, ${submittedAt}::timestamptz, ${id}::text`;
  return policy.order === 'fair-share'
    ? sql`(place, ${ORDER}) ${compare} (${place}::bigint, ${key})`
    : sql`(${ORDER}) ${compare} (${key})`;
}
const isFair = ({ policy }: QueueState): boolean => policy.order === 'fair-share';

/** Where the session stands that waits in this queue. */
export async function readPlace(tx: Runner, queue: QueueState, sessionId: string): Promise<LinePlace | undefined> {
  return tx.first<LinePlace>(sql`
    SELECT place, queue_rank AS "queueRank", submitted_at AS "submittedAt", id
    FROM ${waitingOf(queue.name, isFair(queue))} w WHERE id = ${sessionId}`);
}

/** Counted from the queue's index alone where the queue's own order holds. */
export async function readAhead(
  tx: Runner,
  queue: QueueState,
  place: LinePlace,
): Promise<{ readonly ahead: number; readonly gpusAhead: number }> {
  const row = await tx.first<{ ahead: number; gpusAhead: number }>(sql`
    SELECT count(*)::int AS ahead, coalesce(sum(gpu_count), 0)::bigint AS "gpusAhead"
    FROM ${waitingOf(queue.name, isFair(queue))} w WHERE ${beside(queue, '<', place)}`);
  return row ?? { ahead: 0, gpusAhead: 0 };
}

type EntryRow = WaitingRow &
  Slots & {
    readonly name: string;
    readonly user: string;
    readonly project: string;
    readonly priority: number;
    readonly place: number;
  };

const readPage = (
  tx: Runner,
  queue: QueueState,
  { after, limit }: { readonly after: LinePlace | null; readonly limit: number },
) => {
  const behind = after === null ? sql`true` : beside(queue, '>', after);
  const order = isFair(queue) ? sql`place, ${ORDER}` : ORDER;
  return tx.rows<EntryRow>(sql`
    SELECT ${WAITING_COLUMNS}, s.place, s.name, u.name AS user, p.name AS project, s.priority, s.cpu_milli AS "cpuMilli",
      s.memory_bytes AS "memoryBytes", s.gpu_count AS "gpuCount", s.gpu_memory_bytes AS "gpuMemoryBytes"
    FROM (SELECT * FROM ${waitingOf(queue.name, isFair(queue))} w WHERE ${behind} ORDER BY ${order} LIMIT ${limit}) s
    JOIN users u ON u.id = s.user_id JOIN projects p ON p.id = s.project_id
    ORDER BY s.place, s.queue_rank, s.submitted_at, s.id`);
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

const placeOf = (cursor: string | undefined): LinePlace | null => {
  const [submittedAt, rank, id, place] = decodeCursor(cursor, 4) ?? [];
  if (submittedAt === undefined || rank === undefined || id === undefined || !/^-?\d{1,3}$/.test(rank)) return null;
  return { place: /^\d{1,10}$/.test(place ?? '') ? Number(place) : 0, queueRank: Number(rank), submittedAt, id };
};

/** One consistent view: positions, reasons and the blocker belong together. */
export async function readQueue(tx: Runner, group: string, query: PageQuery): Promise<Page<QueueEntry> | null> {
  const queue = await readQueueState(tx, group);
  if (queue === null) return null;
  const rows = await readPage(tx, queue, { after: placeOf(query.cursor), limit: query.limit + 1 });
  const first = rows[0];
  const ahead =
    query.cursor === undefined || first === undefined ? { ahead: 0, gpusAhead: 0 } : await readAhead(tx, queue, first);
  return pageOfRows(numbered(rows, ahead), query, {
    item: (entry) => toEntry(entry, queue),
    key: ({ row }) => [row.submittedAt, String(row.queueRank), row.id, String(row.place)],
  });
}
