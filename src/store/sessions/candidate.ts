import type {
  BudgetId,
  CreateSession,
  KernelId,
  Principal,
  SnapshotKernel,
  SnapshotPending,
} from '../../contract/index.js';
import type { AdmissionContext, Submission } from '../session-store.js';
import { madeUpName } from './insert-pending.js';
import { maxRuntimeOf, wishedFields } from './request-fields.js';

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
/** Ids that no ledger keeps: the session's own, numbered in its last places. */
const kernelIdOf = (sessionId: string, rank: number): KernelId =>
  `krn_${sessionId.slice(4, -2)}${DIGITS[Math.floor(rank / 32) % 32]}${DIGITS[rank % 32]}` as KernelId;

function kernelsOf({ sessionId, spec }: Submission): SnapshotKernel[] {
  const ordered = spec.kernels.toSorted((a, b) => Number(b.role === 'main') - Number(a.role === 'main'));
  const expanded = ordered.flatMap(({ role, count, slots }) =>
    Array.from({ length: count }, (_, index) => ({ role: role === 'main' ? role : `${role}${index + 1}`, slots })),
  );
  return expanded.map((kernel, rank) => ({ ...kernel, id: kernelIdOf(sessionId, rank), rank }));
}

const projectOf = (spec: CreateSession, principal: Principal): string => {
  const name = spec.project?.split('/').at(-1);
  const found = name === undefined ? principal.projects[0] : principal.projects.find((one) => one.name === name);
  return found?.id ?? '';
};

/** As it would wait, without a trace in the ledger. Without `context` it depends on nothing and has no limit but its own. */
export const candidate = (
  submission: Submission,
  context?: AdmissionContext,
  budgetId: BudgetId | null = null,
): SnapshotPending => ({
  ...wishedFields(submission.spec),
  maxRuntimeSeconds: maxRuntimeOf(submission.spec, context?.group?.policy) ?? null,
  id: submission.sessionId,
  name: submission.spec.name ?? madeUpName(submission.spec.kind, submission.sessionId),
  version: 1,
  userId: submission.principal.userId,
  projectId: context?.project?.id ?? projectOf(submission.spec, submission.principal),
  domainId: submission.principal.domainId,
  budgetId,
  priority: submission.spec.priority,
  submittedAt: submission.submittedAt,
  architecture: submission.spec.architecture ?? null,
  gpuModel: submission.spec.gpuModel ?? null,
  clusterMode: submission.spec.clusterMode,
  kernels: kernelsOf(submission),
  attempt: 0,
  retryAt: null,
  avoid: [],
  dependsOn: (context?.dependencies ?? []).flatMap(({ found }) => found ?? []),
  folders: (context?.folders ?? []).flatMap(({ found }) => found?.id ?? []),
  decay: { tries: 0, countedAt: null, blockedSince: null },
});
