import type { Runner } from '../database.js';
import { json, type Sql, sql } from '../sql.js';
import { cover, type Piece } from './cover.js';

/** What one account (a budget's or a project's id) had in one cell. */
export interface AccountTime {
  readonly cell: number;
  readonly kind: 'charged' | 'unallocated' | 'uncharged';
  readonly account: string;
  readonly gpuTime: number;
}

export const instant = (ms: number): string => new Date(ms).toISOString();

const KIND = sql`gpu_time_kind(r.charged, r.allocated) AS kind, coalesce(r.budget_id, r.project_id) AS account`;
/** As the index has it. A release may carry the moment of a transaction that began before the booking's: it then lasted no time. */
export const HELD = sql`tstzrange(r.created_at, greatest(r.created_at, r.released_at))`;

const recordset = (
  pieces: readonly { readonly cell: number; readonly fromMs: number; readonly untilMs: number }[],
): Sql =>
  sql`jsonb_to_recordset(${json(pieces.map(({ cell, fromMs, untilMs }) => ({ cell, from: instant(fromMs), until: instant(untilMs) })))}::jsonb)
    AS p(cell int, "from" timestamptz, until timestamptz)`;

const ofSize = (pieces: readonly Piece[], size: Piece['size']): readonly Piece[] =>
  pieces.filter((piece) => piece.size === size);

const fromBuckets = (pieces: readonly Piece[], size: 'day' | 'hour'): Sql => sql`
  SELECT p.cell, b.kind, b.account, b.gpu_time FROM ${recordset(ofSize(pieces, size))}
  CROSS JOIN LATERAL (SELECT kind, account, gpu_time FROM gpu_time_buckets
    WHERE size = ${size} AND start >= p."from" AND start < p.until) b`;

const overlap = (until: Sql): Sql =>
  sql`r.milli_gpus * ms_of(least(${until}, p.until) - greatest(r.created_at, p."from"))`;

const fromIntervals = (pieces: readonly Piece[]): Sql => sql`
  SELECT p.cell, ${KIND}, ${overlap(sql`r.released_at`)} FROM ${recordset(ofSize(pieces, 'exact'))}
  JOIN reservations r ON r.fair_share AND r.folded AND ${HELD} && tstzrange(p."from", p.until)`;

/** What holds its room still, and what was released and is not folded yet. */
const fromOpen = (cells: readonly Piece[], at: string): Sql => sql`
  SELECT p.cell, ${KIND}, ${overlap(sql`o.until`)} FROM reservations r
  CROSS JOIN LATERAL (SELECT least(r.released_at, ${at}::timestamptz) AS until) o
  JOIN ${recordset(cells)} ON r.created_at < p.until AND o.until > p."from"
  WHERE r.fair_share AND NOT r.folded AND o.until > r.created_at`;

/**
 * The occupancy of each account in each cell, exact to the ms, of one consistent view whose moment is `at`: nothing lies after it.
 * Its cost is that of the buckets in sight, of what runs, and of the intervals that lie where an edge cuts an hour.
 */
export async function readGpuTime(tx: Runner, edgesMs: readonly number[], at: string): Promise<readonly AccountTime[]> {
  const pieces = cover(edgesMs, Date.parse(at));
  const cells = edgesMs.slice(0, -1).map(
    (fromMs, cell): Piece => ({
      size: 'exact',
      cell,
      fromMs,
      untilMs: edgesMs[cell + 1] ?? fromMs,
    }),
  );
  return tx.rows<AccountTime>(sql`
    SELECT u.cell, u.kind, u.account, sum(u.gpu_time)::bigint AS "gpuTime" FROM (
      ${fromBuckets(pieces, 'day')} UNION ALL ${fromBuckets(pieces, 'hour')}
      UNION ALL ${fromIntervals(pieces)} UNION ALL ${fromOpen(cells, at)}) AS u(cell, kind, account, gpu_time)
    GROUP BY u.cell, u.kind, u.account`);
}

/**
 * The same over a window whose use counts half after each half-life: summed from the intervals, weighed at `at`. What is older
 * than 64 half-lives is below the least that a number of 53 bits tells from nothing.
 */
export async function readDecayedTime(
  tx: Runner,
  { at, windowMs, halfLifeMs }: { readonly at: string; readonly windowMs: number; readonly halfLifeMs: number },
): Promise<readonly AccountTime[]> {
  const from = instant(Date.parse(at) - Math.min(windowMs, 64 * halfLifeMs));
  const age = (moment: Sql): Sql =>
    sql`power(0.5::float8, ms_of(${at}::timestamptz - ${moment}) / ${halfLifeMs}::float8)`;
  const part = (of: Sql): Sql => sql`
    SELECT ${KIND}, r.milli_gpus * (${age(sql`o.until`)} - ${age(sql`greatest(r.created_at, ${from}::timestamptz)`)}) AS weight
    FROM reservations r CROSS JOIN LATERAL (SELECT least(r.released_at, ${at}::timestamptz) AS until) o
    WHERE r.fair_share AND ${of} AND o.until > ${from}::timestamptz AND o.until > r.created_at`;
  return tx.rows<AccountTime>(sql`
    SELECT 0 AS cell, u.kind, u.account, round(sum(u.weight) * ${halfLifeMs}::float8 / ln(2::float8))::bigint AS "gpuTime"
    FROM (${part(sql`r.folded AND ${HELD} && tstzrange(${from}::timestamptz, ${at}::timestamptz)`)}
      UNION ALL ${part(sql`NOT r.folded`)}) u
    GROUP BY u.kind, u.account`);
}
