import type { Principal, Session, SessionId } from '../../contract/index.js';
import type { Database } from '../database.js';
import type { Submission } from '../session-store.js';
import { sql } from '../sql.js';
import { candidate } from './candidate.js';
import { madeUpName } from './insert-pending.js';
import { readSubmission } from './read-admission.js';
import { requestedFields } from './read-session.js';

/** What no session has before it is admitted. */
const NOT_YET = {
  state: 'SUBMITTED',
  health: 'none',
  attempt: 0,
  kernels: [],
  mounts: [],
  dependsOn: [],
  protectedUntil: null,
  retryAt: null,
  expectedStart: null,
  idle: null,
  reason: null,
  message: 'recorded, not yet admitted',
  result: 'none',
  cause: null,
  exitCode: null,
  placedAt: null,
  startedAt: null,
  endedAt: null,
} satisfies Partial<Session>;

function shown(submission: Submission): Session {
  const { spec, principal, submittedAt, sessionId } = submission;
  const waiting = candidate(submission);
  const named = spec.project?.split('/').at(-1);
  const project = principal.projects.find((one) => one.id === waiting.projectId);
  const sum = (slot: 'cpuMilli' | 'memoryBytes' | 'gpuCount' | 'gpuMemoryBytes') =>
    waiting.kernels.reduce((total, kernel) => total + kernel.slots[slot], 0);
  return {
    ...NOT_YET,
    ...requestedFields(spec),
    id: sessionId,
    name: spec.name ?? madeUpName(spec.kind, sessionId),
    kind: spec.kind,
    user: principal.userName,
    userId: principal.userId,
    project: project?.name ?? named ?? '',
    projectId: waiting.projectId as Session['projectId'],
    domain: principal.domainName,
    group: spec.group,
    clusterMode: spec.clusterMode,
    priority: spec.priority,
    slots: {
      cpuMilli: sum('cpuMilli'),
      memoryBytes: sum('memoryBytes'),
      gpuCount: sum('gpuCount'),
      gpuMemoryBytes: sum('gpuMemoryBytes'),
    },
    ports: spec.ports.map((port) => ({ ...port, hostPort: null, node: null })),
    labels: spec.labels,
    submittedAt,
    createdAt: submittedAt,
  };
}

/** What there is to show before the admission. Null once it is admitted, or was refused. */
export async function getSubmitted(db: Database, sessionId: SessionId, viewer: Principal): Promise<Session | null> {
  const submission = await readSubmission(db, sessionId);
  const isAdmitted = (await db.first(sql`SELECT 1 FROM sessions WHERE id = ${sessionId}`)) !== undefined;
  if (submission === null || submission.refusal !== null || isAdmitted) return null;
  const isVisible = viewer.role === 'operator' || viewer.userId === submission.principal.userId;
  return isVisible ? shown(submission) : null;
}
