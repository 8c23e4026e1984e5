import type { BudgetId, CreateSession, SessionId } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { recordEvent } from '../record-event.js';
import type { AdmissionContext, AdmittedKernel, SessionAttributes, StopRequest } from '../session-store.js';
import { json, sql } from '../sql.js';
import { readAttributes } from './attributes.js';
import { maxRuntimeOf } from './request-fields.js';

/** Made up from the id, so that a retry makes up the same. */
export const madeUpName = (kind: string, sessionId: SessionId): string => `${kind}-${sessionId.slice(-8)}`;

/** A DNS label that is unique in the session: the role, or its start with the rank. */
const hostnameOf = (kernel: AdmittedKernel): string =>
  kernel.role.length <= 63 ? kernel.role : `${kernel.role.slice(0, 56)}-${kernel.rank}`;

const total = (kernels: readonly AdmittedKernel[], slot: keyof AdmittedKernel['slots']): number =>
  kernels.reduce((sum, kernel) => sum + kernel.slots[slot], 0);

/** The row's spec is what holds: with the maximum runtime that the group gives to a request without one. */
async function insertRow(
  tx: Runner,
  context: AdmissionContext,
  { kernels, budgetId }: { readonly kernels: readonly AdmittedKernel[]; readonly budgetId: BudgetId | null },
): Promise<boolean> {
  const { submission, project } = context;
  const { principal, sessionId } = submission;
  const maxRuntimeSeconds = maxRuntimeOf(submission.spec, context.group?.policy);
  const spec: CreateSession =
    maxRuntimeSeconds === undefined ? submission.spec : { ...submission.spec, maxRuntimeSeconds };
  const inserted = await tx.run(sql`
    INSERT INTO sessions (id, name, kind, state, user_id, project_id, domain_id, group_name, spec, labels, architecture,
      gpu_model, cluster_mode, priority, cpu_milli, memory_bytes, gpu_count, gpu_memory_bytes, budget_id, submitted_at)
    SELECT ${sessionId}, ${spec.name ?? madeUpName(spec.kind, sessionId)}, ${spec.kind}, 'PENDING', ${principal.userId},
      p.id, p.domain_id, ${spec.group}, ${json(spec)}::jsonb, ${json(spec.labels)}::jsonb, ${spec.architecture ?? null},
      ${spec.gpuModel ?? null}, ${spec.clusterMode}, ${spec.priority}, ${total(kernels, 'cpuMilli')},
      ${total(kernels, 'memoryBytes')}, ${total(kernels, 'gpuCount')}, ${total(kernels, 'gpuMemoryBytes')}, ${budgetId}::text,
      ${submission.submittedAt}
    FROM projects p WHERE p.id = ${project?.id ?? null}
    ON CONFLICT (id) DO NOTHING`);
  return inserted === 1;
}

async function insertKernels(tx: Runner, sessionId: SessionId, kernels: readonly AdmittedKernel[]): Promise<void> {
  const rows = kernels.map((kernel) => ({ ...kernel, ...kernel.slots, hostname: hostnameOf(kernel) }));
  await tx.run(sql`
    INSERT INTO kernels (id, session_id, role, group_role, rank, hostname, cpu_milli, memory_bytes, gpu_count, gpu_memory_bytes)
    SELECT k.id, ${sessionId}, k.role, k."groupRole", k.rank, k.hostname, k."cpuMilli", k."memoryBytes", k."gpuCount", k."gpuMemoryBytes"
    FROM jsonb_to_recordset(${json(rows)}::jsonb) AS k(id text, role text, "groupRole" text, rank int, hostname text,
      "cpuMilli" bigint, "memoryBytes" bigint, "gpuCount" bigint, "gpuMemoryBytes" bigint)`);
}

/** The folders are locked against removal while the mount is written: one that is going is refused. */
async function insertMounts(tx: Runner, { submission, folders }: AdmissionContext): Promise<void> {
  const mounts = submission.spec.mounts.map((mount) => ({
    ...mount,
    folderId: folders.find((folder) => folder.asked === mount.folder)?.found?.id ?? null,
  }));
  if (mounts.length === 0) return;
  const locked = await tx.rows<{ id: string }>(sql`
    SELECT id FROM folders WHERE state = 'READY' AND id = ANY(${mounts.map((mount) => mount.folderId)}) ORDER BY id FOR SHARE`);
  const ready = new Set(locked.map((row) => row.id));
  const gone = mounts.find((mount) => mount.folderId === null || !ready.has(mount.folderId));
  if (gone !== undefined) throw new Error(`the folder ${gone.folder} was removed during the admission`);
  await tx.run(sql`
    INSERT INTO session_mounts (session_id, target, folder_id, folder_name, volume, read_only, roles)
    SELECT ${submission.sessionId}, m.target, f.id, f.name, f.volume, m."readOnly", m.roles
    FROM jsonb_to_recordset(${json(mounts)}::jsonb) AS m("folderId" text, target text, "readOnly" boolean, roles jsonb)
    JOIN folders f ON f.id = m."folderId"`);
}

/** Of one session that is named twice the stricter wish holds. */
async function insertDependencies(tx: Runner, { submission, dependencies }: AdmissionContext): Promise<void> {
  const found = dependencies.flatMap((one) => one.found ?? []);
  if (found.length === 0) return;
  await tx.run(sql`
    INSERT INTO session_dependencies (session_id, upstream_id, on_failure)
    SELECT DISTINCT ON (d."sessionId") ${submission.sessionId}, d."sessionId", d."onFailure"
    FROM jsonb_to_recordset(${json(found)}::jsonb) AS d("sessionId" text, "onFailure" text)
    ORDER BY d."sessionId", array_position(ARRAY['fail', 'cancel', 'ignore'], d."onFailure")
    ON CONFLICT DO NOTHING`);
}

/** A stop that was asked before there was a row. */
async function cancelAtOnce(tx: Runner, sessionId: SessionId, stop: StopRequest): Promise<void> {
  await tx.run(sql`
    UPDATE sessions SET state = 'CANCELLED', result = 'cancelled', cause = ${stop.cause}, message = ${stop.message},
      stop_requested_at = now(), stop_actor = ${stop.actor}, ended_at = now(), version = version + 1
    WHERE id = ${sessionId}`);
  await recordEvent(tx, {
    sessionId,
    kind: 'state',
    from: 'PENDING',
    to: 'CANCELLED',
    cause: stop.cause,
    actor: stop.actor,
    attempt: 0,
    message: stop.message,
  });
}

/**
 * Whoever changes the tree waits for this row, or is waited for: a budget that is closed meanwhile, or gets others below it, is
 * charged by nobody who does not know. The admission is tried again, and refuses.
 */
async function requireLeaf(tx: Runner, budgetId: BudgetId): Promise<void> {
  await tx.run(sql`SELECT pg_advisory_xact_lock_shared(hashtextextended('budgets', 0))`);
  const leaf = await tx.first(sql`SELECT 1 FROM open_leaves WHERE id = ${budgetId}`);
  if (leaf === undefined) throw new Error(`the budget ${budgetId} was closed or divided during the admission`);
}

/** The row, its kernels, mounts, dependencies and first event, or nothing. */
export async function insertPending(
  tx: Runner,
  context: AdmissionContext,
  { kernels, budgetId }: { readonly kernels: readonly AdmittedKernel[]; readonly budgetId: BudgetId | null },
): Promise<SessionAttributes> {
  const { sessionId, principal } = context.submission;
  const submission = await tx.first<{ stop: StopRequest | null }>(
    sql`SELECT stop FROM submissions WHERE session_id = ${sessionId} FOR UPDATE`,
  );
  if (budgetId !== null && (await readAttributes(tx, sessionId)) === null) await requireLeaf(tx, budgetId);
  if (await insertRow(tx, context, { kernels, budgetId })) {
    await insertKernels(tx, sessionId, kernels);
    await insertMounts(tx, context);
    await insertDependencies(tx, context);
    if (budgetId !== null) await tx.run(sql`SELECT note_demand(${sessionId})`);
    const admitted = { sessionId, kind: 'state' as const, from: null, to: 'PENDING', cause: 'admitted' };
    await recordEvent(tx, { ...admitted, actor: principal.actingUserName, attempt: 0 });
    if (submission?.stop != null) await cancelAtOnce(tx, sessionId, submission.stop);
    await tx.run(
      sql`UPDATE submissions SET answered_at = coalesce(answered_at, now()) WHERE session_id = ${sessionId}`,
    );
  }
  const attributes = await readAttributes(tx, sessionId);
  if (attributes === null) throw new Error('the project of the session is gone');
  return attributes;
}
