import type { CreateSession, FolderId, GroupPolicy, Principal, Refusal, SessionId } from '../../contract/index.js';
import { readTerms } from '../budgets/read-facts.js';
import type { Database, Runner } from '../database.js';
import { type NodeCache, readNodeFacts } from '../nodes/read-snapshot-nodes.js';
import type { AdmissionContext, SessionAttributes, Submission } from '../session-store.js';
import { type QuotaScopeId, readQuotas } from '../settings/held.js';
import { sql } from '../sql.js';
import { readAttributes } from './attributes.js';
import { mountLacks } from './mount-rights.js';
import { readDependencies } from './read-dependencies.js';

interface SubmissionRow {
  readonly session_id: SessionId;
  readonly principal: Principal;
  readonly spec: CreateSession;
  readonly sealed_secrets: Buffer | null;
  readonly submitted_at: string;
  readonly refusal: Refusal | null;
}

export async function readSubmission(
  tx: Runner,
  sessionId: SessionId,
): Promise<(Submission & { readonly refusal: Refusal | null }) | null> {
  const row = await tx.first<SubmissionRow>(sql`
    SELECT session_id, principal, spec, sealed_secrets, submitted_at, refusal FROM submissions WHERE session_id = ${sessionId}`);
  if (row === undefined) return null;
  return {
    sessionId: row.session_id,
    principal: row.principal,
    spec: row.spec,
    sealedSecrets: row.sealed_secrets,
    submittedAt: row.submitted_at,
    refusal: row.refusal,
  };
}

interface ProjectRow {
  readonly id: string;
  readonly name: string;
  readonly domain: string;
  readonly domain_id: string;
  readonly is_member: boolean;
}

/** By `domain/name`, by name in the user's own domain, or the user's first project when none is named. */
async function readProject(tx: Runner, { spec, principal }: Submission): Promise<ProjectRow | undefined> {
  const named = spec.project?.split('/') ?? [];
  const [domain, name] = named.length === 2 ? named : [principal.domainName, named[0]];
  const choice =
    spec.project === undefined ? sql`m.user_id IS NOT NULL` : sql`d.name = ${domain ?? ''} AND p.name = ${name ?? ''}`;
  return tx.first<ProjectRow>(sql`
    SELECT p.id, p.name, d.name AS domain, d.id AS domain_id, m.user_id IS NOT NULL AS is_member
    FROM projects p JOIN domains d ON d.id = p.domain_id
    LEFT JOIN memberships m ON m.project_id = p.id AND m.user_id = ${principal.userId}
    WHERE ${choice} ORDER BY m.created_at, p.id LIMIT 1`);
}

async function readGroup(
  tx: Runner,
  group: string,
  project: ProjectRow | undefined,
): Promise<AdmissionContext['group']> {
  const row = await tx.first<{ name: string; may_use: boolean; policy: GroupPolicy; waiting: number | null }>(sql`
    SELECT g.name, g.policy, CASE WHEN g.policy->>'maxPendingSessions' IS NOT NULL THEN
        (SELECT count(*)::int FROM sessions s WHERE s.group_name = g.name AND s.state = 'PENDING') END AS waiting,
      NOT EXISTS (SELECT 1 FROM group_access a WHERE a.group_name = g.name)
      OR EXISTS (SELECT 1 FROM group_access a WHERE a.group_name = g.name
                 AND (a.project_id = ${project?.id ?? null} OR a.domain_id = ${project?.domain_id ?? null})) AS may_use
    FROM resource_groups g WHERE g.name = ${group}`);
  if (row === undefined) return null;
  return { name: row.name, mayUse: row.may_use, policy: row.policy, waiting: row.waiting ?? 0 };
}

async function readPendingCounts(tx: Runner, scopes: readonly QuotaScopeId[], quotas: AdmissionContext['quotas']) {
  const pending: AdmissionContext['pending'][number][] = [];
  for (const { scope, id } of scopes) {
    const quota = quotas.find((one) => one.scope === scope && one.id === id);
    if (quota?.limits.pendingSessions === undefined) continue;
    const column = { user: sql`user_id`, project: sql`project_id`, domain: sql`domain_id` }[scope];
    const row = await tx.first<{ waiting: number }>(
      sql`SELECT count(*)::int AS waiting FROM sessions WHERE state = 'PENDING' AND ${column} = ${id}`,
    );
    pending.push({ scope, name: quota.name, waiting: row?.waiting ?? 0, limits: quota.limits });
  }
  return pending;
}

/** The user's own of that name first, then one of the session's project. One on which it may not do what the mount needs is refused by name. */
async function readFolders(tx: Runner, { spec, principal }: Submission, projectId: string | undefined) {
  const asked = [...new Set(spec.mounts.map((mount) => mount.folder))];
  if (asked.length === 0) return [];
  const rows = await tx.rows<{ id: FolderId; name: string; volume: string; rights: readonly string[] }>(sql`
    SELECT f.id, f.name, f.volume, to_json(r.rights) AS rights
    FROM folders f CROSS JOIN LATERAL (SELECT folder_permissions(f, ${principal.userId}) AS rights) r
    WHERE f.state = 'READY' AND r.rights && '{read,write}' AND (f.id = ANY(${asked}) OR f.name = ANY(${asked}))
    ORDER BY (f.owned_by = 'user' AND f.owner_id = ${principal.userId}) DESC, f.project_id = ${projectId ?? null} DESC NULLS LAST, f.created_at`);
  return asked.map((name) => {
    const found = rows.find((row) => row.id === name) ?? rows.find((row) => row.name === name) ?? null;
    const writes = spec.mounts.some((mount) => mount.folder === name && !mount.readOnly);
    const lacks = found === null ? undefined : mountLacks(found.rights, writes);
    return { asked: name, found, ...(lacks === undefined ? {} : { lacks }) };
  });
}

async function contextOf(tx: Runner, cache: NodeCache, submission: Submission): Promise<AdmissionContext> {
  const { spec, principal, sessionId } = submission;
  const project = await readProject(tx, submission);
  const group = await readGroup(tx, spec.group, project);
  const scopes: QuotaScopeId[] = [
    { scope: 'user', id: principal.userId },
    ...(project === undefined ? [] : [{ scope: 'project' as const, id: project.id }]),
    { scope: 'domain', id: project?.domain_id ?? principal.domainId },
  ];
  const quotas = await readQuotas(tx, scopes);
  const taken = await tx.first<{ id: SessionId }>(sql`
    SELECT id FROM sessions
    WHERE project_id = ${project?.id ?? null} AND name = ${spec.name ?? null} AND ended_at IS NULL AND id <> ${sessionId}`);
  const alreadyAdmitted: SessionAttributes | null = await readAttributes(tx, sessionId);
  return {
    submission,
    alreadyAdmitted,
    project: project === undefined ? null : { id: project.id, name: project.name, domain: project.domain },
    isMember: project?.is_member ?? false,
    group,
    nodes: group === null ? [] : await readNodeFacts(tx, group.name, cache),
    budgets: group?.policy.order === 'fair-share' ? await readTerms(tx) : null,
    quotas,
    pending: await readPendingCounts(tx, scopes, quotas),
    nameTakenBy: taken?.id ?? null,
    folders: await readFolders(tx, submission, project?.id),
    dependencies: await readDependencies(tx, submission),
  };
}

export const readAdmission = (db: Database, cache: NodeCache, sessionId: SessionId): Promise<AdmissionContext | null> =>
  db.transaction(async (tx) => {
    const submission = await readSubmission(tx, sessionId);
    return submission === null ? null : contextOf(tx, cache, submission);
  }, 'snapshot');

export const previewAdmission = (db: Database, cache: NodeCache, submission: Submission): Promise<AdmissionContext> =>
  db.transaction((tx) => contextOf(tx, cache, submission), 'snapshot');
