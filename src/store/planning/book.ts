import type { Placed } from '../../contract/index.js';
import { isFairShare } from '../budgets/raise-fair-share.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import type { Committed } from '../store.js';

type BookedSession = Committed['placed'][number];

interface KernelChoice {
  readonly kernelId: string;
  readonly sessionId: string;
  readonly node: string;
  readonly deviceIds: readonly string[];
  /** Promised of its one device; null: it has its devices whole. */
  readonly share: number | null;
  readonly epoch: number;
}

/** Adds to the use of each node, where the CHECK is the last guard, and takes one epoch a kernel. */
async function addUse(tx: Runner, placed: readonly Placed[]): Promise<readonly KernelChoice[]> {
  const choices = placed.flatMap(({ sessionId, kernels }) =>
    kernels.map(({ kernelId, node, deviceIds, slots }) => {
      const share = slots.gpuMemoryBytes > 0 ? slots.gpuMemoryBytes : null;
      return { kernelId, sessionId, node, deviceIds, share };
    }),
  );
  const rows = await tx.rows<{ node: string; epoch: number }>(sql`
    UPDATE node_use u SET epoch = u.epoch + s.kernels, cpu_milli_used = u.cpu_milli_used + s.cpu,
      memory_bytes_used = u.memory_bytes_used + s.memory, gpu_count_used = u.gpu_count_used + s.gpus
    FROM (SELECT c.node, count(*) AS kernels, sum(k.cpu_milli)::bigint AS cpu, sum(k.memory_bytes)::bigint AS memory,
            sum(k.gpu_count)::bigint AS gpus
          FROM jsonb_to_recordset(${json(choices)}::jsonb) AS c("kernelId" text, node text) JOIN kernels k ON k.id = c."kernelId"
          GROUP BY c.node) s
    WHERE u.node = s.node RETURNING u.node, u.epoch`);
  const last = new Map(rows.map((row) => [row.node, row.epoch]));
  return choices.toReversed().map((choice) => {
    const epoch = last.get(choice.node) ?? 0;
    last.set(choice.node, epoch - 1);
    return { ...choice, epoch };
  });
}

/** A placement gives the submitted priority back, and is an attempt of its own: nothing of its wait or of the attempt before stays. */
const AFRESH = sql`
  priority = s.base_priority, decay_tries = 0, decay_counted_at = NULL, blocked_since = NULL, retry_at = NULL, nearest = NULL,
  expected_start = NULL, expected_basis = NULL, reserved_nodes = '[]', started_at = NULL, ending_at = NULL, gone_by = NULL,
  preempt_cause = NULL, preempt_for = NULL, preempt_then = NULL, preempt_grace_ms = NULL, preempt_breaks_min = false,
  preempt_asked_at = NULL, preempt_seen_at = NULL`;

/**
 * Thousandths of a GPU by what the devices' models count: a share counts its part of the device. Kept where the group orders by
 * fair share. A kernel without a GPU keeps nothing, and has the contract of its session all the same.
 */
const GPU_TIME = sql`
  CROSS JOIN LATERAL (
    SELECT d.milli_gpus, f.is_fair, d.milli_gpus > 0 AND f.is_fair AS is_kept
    FROM resource_groups g CROSS JOIN LATERAL (SELECT ${isFairShare(sql`g.policy`)} AS is_fair) f CROSS JOIN LATERAL (
      SELECT coalesce(sum(ceil(gpu_factor(b.settings, d.model)
        * CASE WHEN c.share IS NULL THEN 1000 ELSE ceil(1000.0 * c.share / d.memory_bytes) END / 1000)), 0)::bigint AS milli_gpus
      FROM budget_settings b CROSS JOIN jsonb_array_elements_text(c."deviceIds") AS chosen_device(id)
      JOIN devices d ON d.node = c.node AND d.id = chosen_device.id) d
    WHERE g.name = m.group_name) t`;

/** One statement: the sessions move on, each kernel is reserved, each device or share held, room kept for them is given up, and each is told. */
export async function book(tx: Runner, placed: readonly Placed[]): Promise<readonly BookedSession[]> {
  if (placed.length === 0) return [];
  const kernels = await addUse(tx, placed);
  const sessions = placed.map(({ sessionId, explanation, kernels: own }) => ({
    sessionId,
    explanation,
    nodes: [...new Set(own.map((kernel) => kernel.node))],
  }));
  return tx.rows<BookedSession>(sql`
    WITH moved AS (
      UPDATE sessions s SET state = 'SCHEDULED', version = s.version + 1, attempt = s.attempt + 1, placed_at = now(),
        signalled_at = now(), reason = 'placed', reason_class = 'starting', reason_since = now(), message = c.explanation,
        blockers = '[]', violations = '[]', node_verdict = NULL, health = 'none', health_sends = 0, ${AFRESH}
      FROM jsonb_to_recordset(${json(sessions)}::jsonb) AS c("sessionId" text, explanation text, nodes jsonb)
      WHERE s.id = c."sessionId" RETURNING s.id, s.attempt, s.user_id, s.project_id, s.domain_id, s.group_name, s.budget_id, s.min_runtime_ms,
        c.explanation, c.nodes),
    chosen AS (
      SELECT * FROM jsonb_to_recordset(${json(kernels)}::jsonb)
        AS c("kernelId" text, "sessionId" text, node text, epoch bigint, share bigint, "deviceIds" jsonb)),
    reserved AS (
      INSERT INTO reservations (kernel_id, attempt, session_id, user_id, project_id, domain_id, node, epoch,
        cpu_milli, memory_bytes, gpu_count, gpu_memory_bytes, milli_gpus, budget_id, allocated, fair_share)
      SELECT k.id, m.attempt, m.id, m.user_id, m.project_id, m.domain_id, c.node, c.epoch,
        k.cpu_milli, k.memory_bytes, k.gpu_count, k.gpu_memory_bytes, t.milli_gpus, l.id,
        t.is_fair AND l.id IS NOT NULL AND m.min_runtime_ms > 0, t.is_kept
      FROM chosen c JOIN kernels k ON k.id = c."kernelId" JOIN moved m ON m.id = c."sessionId"
      LEFT JOIN open_leaves l ON l.id = m.budget_id ${GPU_TIME} ORDER BY c.node, c.epoch
      RETURNING id, kernel_id, attempt, session_id, node),
    holds AS (
      INSERT INTO device_holds (reservation_id, node, device_id, session_id, kernel_id, attempt, memory_bytes)
      SELECT r.id, r.node, d.id, r.session_id, r.kernel_id, r.attempt, c.share
      FROM reserved r JOIN chosen c ON c."kernelId" = r.kernel_id
      CROSS JOIN LATERAL jsonb_array_elements_text(c."deviceIds") AS d(id) ORDER BY r.node, d.id),
    unheld AS (DELETE FROM room_holds h USING moved m WHERE h.session_id = m.id),
    fresh AS (
      UPDATE kernels k SET exited_at = NULL, exit_code = NULL, exit_reason = NULL, log_tail = NULL
      FROM reserved r WHERE k.id = r.kernel_id AND r.attempt > 1),
    told AS (
      INSERT INTO session_events (session_id, kind, from_value, to_value, cause, actor, attempt, message, data)
      SELECT id, 'state', 'PENDING', 'SCHEDULED', 'placed', 'planner', attempt, explanation, jsonb_build_object('nodes', nodes)
      FROM moved)
    SELECT id AS "sessionId", attempt FROM moved ORDER BY id`);
}
