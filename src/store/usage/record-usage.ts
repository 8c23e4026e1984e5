import type { NodeUsage } from '../../contract/index.js';
import { RATE_MS } from '../../lifecycle/measurement-gap.js';
import { advisoryKey, type Runner } from '../database.js';
import { json, sql } from '../sql.js';
import { type Derived, derive, type Known, overHours, type Promised, type Sample } from './derive.js';

interface PlacedRow {
  readonly kernelId: string;
  readonly attempt: number;
  readonly atMs: number;
  readonly memoryBytes: number;
  readonly devices: Promised['devices'];
  readonly last: (Known['last'] & { readonly takenMs: number }) | null;
  readonly base: Known['base'] | null;
}

const SAMPLE = sql`jsonb_build_object('atMs', (extract(epoch FROM u.at) * 1000)::bigint,
  'takenMs', (extract(epoch FROM u.taken_at) * 1000)::bigint, 'everyMs', u.every_ms, 'segment', u.segment,
  'cpuNanoseconds', u.cpu_nanoseconds, 'memoryBytes', u.memory_bytes, 'devices', u.devices) AS sample`;

/** Kernels of the batch that are placed there now, each with its last sample and the one that rates are from. */
const readPlaced = (tx: Runner, node: string, { kernels, ageMs }: NodeUsage): Promise<PlacedRow[]> =>
  tx.rows<PlacedRow>(sql`
    WITH told AS (SELECT t."kernelId", t.attempt FROM jsonb_to_recordset(${json(kernels)}::jsonb) AS t("kernelId" text, attempt int)),
      measured AS (SELECT now() - ${ageMs}::float8 * interval '1 ms' AS at)
    SELECT r.kernel_id AS "kernelId", r.attempt, (extract(epoch FROM measured.at) * 1000)::bigint AS "atMs",
      r.memory_bytes AS "memoryBytes", d.devices, l.sample AS last, b.sample AS base
    FROM told JOIN reservations r ON r.kernel_id = told."kernelId" AND r.attempt = told.attempt AND r.node = ${node}
      AND r.released_at IS NULL CROSS JOIN measured
    CROSS JOIN LATERAL (SELECT coalesce(jsonb_agg(jsonb_build_object('id', h.device_id,
        'memoryBytes', coalesce(h.memory_bytes, v.memory_bytes))), '[]') AS devices
      FROM device_holds h JOIN devices v ON v.node = h.node AND v.id = h.device_id
      WHERE h.reservation_id = r.id AND h.released_at IS NULL) d
    LEFT JOIN LATERAL (SELECT ${SAMPLE}, u.segment FROM usage_samples u
      WHERE u.kernel_id = r.kernel_id AND u.attempt = r.attempt ORDER BY u.at DESC LIMIT 1) l ON true
    LEFT JOIN LATERAL (SELECT ${SAMPLE} FROM usage_samples u WHERE u.kernel_id = r.kernel_id AND u.attempt = r.attempt
      AND u.segment = l.segment AND u.at >= measured.at - ${RATE_MS}::float8 * interval '1 ms' ORDER BY u.at LIMIT 1) b ON true`);

type Told = NodeUsage['kernels'][number];
interface Row {
  readonly placed: PlacedRow;
  readonly told: Told;
  readonly derived: Derived;
}

function rowOf(placed: PlacedRow, told: Told, usage: NodeUsage): Row {
  const { last, base, atMs } = placed;
  const next: Sample = { ...told, atMs, everyMs: usage.everyMs, devices: usage.devices };
  // a node that measures less than each 5 min: rates are since the last time
  const known = last === null ? null : { last, base: base ?? last };
  return { placed, told, derived: derive(known, next, placed) };
}

/** The same batch again, or one that was overtaken: counters have it already. */
const isNewer = ({ last, atMs }: PlacedRow, takenMs: number): boolean =>
  last === null || (takenMs > last.takenMs && atMs > last.atMs);

const insertSamples = (tx: Runner, rows: readonly Row[], { everyMs, takenAt }: NodeUsage): Promise<number> =>
  tx.run(sql`
    INSERT INTO usage_samples (kernel_id, attempt, at, taken_at, every_ms, segment, cpu_nanoseconds, memory_bytes, received_bytes,
      sent_bytes, devices, cpu_milli, gpu_percent, gpu_memory_percent, memory_percent)
    SELECT n."kernelId", n.attempt, to_timestamp(n."atMs" / 1000.0), ${takenAt}::timestamptz, ${everyMs}::int, n.segment, n."cpuNanoseconds",
      n."memoryBytes", n."receivedBytes", n."sentBytes", n.devices, n."cpuMilli", n."gpuPercent", n."gpuMemoryPercent", n."memoryPercent"
    FROM jsonb_to_recordset(${json(rows.map(({ placed, told, derived }) => ({ ...told, ...derived, atMs: placed.atMs })))}::jsonb)
      AS n("kernelId" text, attempt int, "atMs" float8, segment int, "cpuNanoseconds" bigint, "memoryBytes" bigint, "receivedBytes" bigint,
        "sentBytes" bigint, devices jsonb, "cpuMilli" real, "gpuPercent" real, "gpuMemoryPercent" real, "memoryPercent" real)
    ON CONFLICT DO NOTHING`);

/** Use of devices by the hour: what lies between two samples is laid evenly over the hours that it touches. */
function hoursOf({ placed, derived }: Row) {
  const { kernelId, attempt, last, atMs } = placed;
  if (last === null || derived.observedMs === 0) return [];
  const busy = new Map(overHours(derived.busyMs, last.atMs, atMs).map((part) => [part.hourMs, part.amount]));
  return overHours(derived.observedMs, last.atMs, atMs).map(({ hourMs, amount }) => ({
    kernelId,
    attempt,
    hourMs,
    observedMs: amount,
    busyMs: busy.get(hourMs) ?? 0,
  }));
}

async function addHours(tx: Runner, rows: readonly Row[]): Promise<void> {
  const hours = rows.flatMap(hoursOf);
  if (hours.length === 0) return;
  await tx.run(sql`
    INSERT INTO gpu_use_hours AS g (kernel_id, attempt, hour, busy_ms, observed_ms)
    SELECT n."kernelId", n.attempt, to_timestamp(n."hourMs" / 1000), n."busyMs", n."observedMs"
    FROM jsonb_to_recordset(${json(hours)}::jsonb) AS n("kernelId" text, attempt int, "hourMs" float8, "busyMs" bigint, "observedMs" bigint)
    ON CONFLICT (kernel_id, attempt, hour) DO UPDATE SET busy_ms = g.busy_ms + excluded.busy_ms,
      observed_ms = g.observed_ms + excluded.observed_ms`);
}

/**
 * One batch of a node. Taken once: run again it changes nothing. What is told of a kernel that is not placed there now is
 * refused, and the rest is taken all the same.
 */
export async function recordUsage(tx: Runner, node: string, usage: NodeUsage): Promise<{ refused: string[] }> {
  await tx.run(sql`SELECT pg_advisory_xact_lock(${advisoryKey(`usage/${node}`)})`);
  const placed = new Map((await readPlaced(tx, node, usage)).map((row) => [`${row.kernelId} ${row.attempt}`, row]));
  const refused: string[] = [];
  const rows: Row[] = [];
  for (const told of usage.kernels) {
    const row = placed.get(`${told.kernelId} ${told.attempt}`);
    if (row === undefined) refused.push(told.kernelId);
    else if (isNewer(row, Date.parse(usage.takenAt))) rows.push(rowOf(row, told, usage));
  }
  if (rows.length > 0) {
    await insertSamples(tx, rows, usage);
    await addHours(tx, rows);
  }
  return { refused };
}
