import type { Runner } from '../database.js';
import { json, type Sql, sql } from '../sql.js';
import { instant } from './read-gpu-time.js';

export interface Window {
  readonly at: string;
  readonly windowMs: number;
  readonly halfLifeMs: number | null;
}

/** The integral of 1, or of what is left of it at `at` by half-lives, between two moments of SQL, in ms. */
function integral(from: Sql, until: Sql, { at, halfLifeMs }: Window): Sql {
  if (halfLifeMs === null) return sql`ms_of(${until} - ${from})`;
  const age = (moment: Sql): Sql =>
    sql`power(0.5::float8, least(1000, ms_of(${at}::timestamptz - ${moment}) / ${halfLifeMs}::float8))`;
  return sql`(${age(until)} - ${age(from)}) * ${halfLifeMs}::float8 / ln(2::float8)`;
}

/**
 * C over the window that ends at `at`, weighed as the use is, and what is healthy now. A node younger than the window counts as if
 * it had been there all of it with what it had first.
 */
export async function readCapacity(
  tx: Runner,
  window: Window,
): Promise<{ readonly capacity: number; readonly presentMilliGpus: number }> {
  const from = sql`${instant(Date.parse(window.at) - window.windowMs)}::timestamptz`;
  const at = sql`${window.at}::timestamptz`;
  const row = await tx.first<{ capacity: number; present: number }>(sql`
    SELECT coalesce(round(sum(i.healthy_milli_gpus * ${integral(sql`s."from"`, sql`s.until`, window)})
        FILTER (WHERE s.until > s."from")), 0)::bigint AS capacity,
      coalesce(sum(i.healthy_milli_gpus) FILTER (WHERE i.ended_at IS NULL), 0)::bigint AS present
    FROM node_health_intervals i CROSS JOIN LATERAL (
      SELECT CASE WHEN i.is_first THEN ${from} ELSE greatest(i.started_at, ${from}) END AS "from", least(i.ended_at, ${at}) AS until) s
    WHERE i.fair_share AND (i.ended_at IS NULL OR i.ended_at > ${from})`);
  return { capacity: row?.capacity ?? 0, presentMilliGpus: row?.present ?? 0 };
}

export interface CellPair {
  readonly cell: number;
  readonly total: number;
  readonly healthy: number;
}

const cellsOf = (edgesMs: readonly number[]): Sql =>
  sql`jsonb_to_recordset(${json(
    edgesMs
      .slice(0, -1)
      .map((fromMs, cell) => ({ cell, from: instant(fromMs), until: instant(edgesMs[cell + 1] ?? fromMs) })),
  )}::jsonb) AS p(cell int, "from" timestamptz, until timestamptz)`;

/** GPUs that were there and GPUs that were healthy, as they were recorded. */
export const readCapacityCells = (tx: Runner, edgesMs: readonly number[], at: string): Promise<readonly CellPair[]> =>
  tx.rows<CellPair>(sql`
    SELECT p.cell, sum(i.milli_gpus * s.ms)::bigint AS total, sum(i.healthy_milli_gpus * s.ms)::bigint AS healthy
    FROM ${cellsOf(edgesMs)}
    JOIN node_health_intervals i ON i.fair_share AND i.started_at < p.until AND (i.ended_at IS NULL OR i.ended_at > p."from")
    CROSS JOIN LATERAL (
      SELECT greatest(0, ms_of(least(i.ended_at, p.until, ${at}::timestamptz) - greatest(i.started_at, p."from"))) AS ms) s
    GROUP BY p.cell`);

/** D of each leaf. */
export const readDemandCells = (
  tx: Runner,
  edgesMs: readonly number[],
  at: string,
): Promise<readonly { readonly cell: number; readonly account: string; readonly gpuTime: number }[]> =>
  tx.rows(sql`
    SELECT p.cell, i.budget_id AS account, sum(i.milli_gpus *
      greatest(0, ms_of(least(i.ended_at, p.until, ${at}::timestamptz) - greatest(i.started_at, p."from"))))::bigint AS "gpuTime"
    FROM (SELECT * FROM demand_intervals d WHERE d.started_at < ${instant(edgesMs.at(-1) ?? 0)}::timestamptz
      AND (d.ended_at IS NULL OR d.ended_at > ${instant(edgesMs[0] ?? 0)}::timestamptz)) i
    JOIN ${cellsOf(edgesMs)} ON i.started_at < p.until AND (i.ended_at IS NULL OR i.ended_at > p."from")
    GROUP BY p.cell, i.budget_id`);
