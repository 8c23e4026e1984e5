import { forestOf } from '../budgets/budget-forest.js';
import type {
  CreateSession,
  Principal,
  Refusal,
  RouteAnswer,
  Session,
  Snapshot,
  SnapshotPending,
} from '../contract/index.js';
import { contractOf } from '../lifecycle/gpu-contract.js';
import { admissionQuestion } from '../scheduler/admission-question.js';
import { chargedBudget } from '../scheduler/contract-grounds.js';
import { decideAdmission } from '../scheduler/decide-admission.js';
import { quotaAfter } from '../scheduler/quota-after.js';
import { quotaNever } from '../scheduler/quota-never.js';
import { type WhatIf, whatIf } from '../scheduler/what-if.js';
import type { AdmissionContext } from '../store/session-store.js';
import type { ApiDeps } from './deps.js';
import { found, ProblemError } from './problem.js';
import { submissionOf } from './submit-session.js';

type DryRun = Extract<RouteAnswer<'createSession'>, { readonly outcome: string }>;
type Verdict = Omit<DryRun, 'contract'>;

function placedKernels(verdict: WhatIf, candidate: SnapshotPending): DryRun['kernels'] {
  const roles = new Map(candidate.kernels.map(({ id, role }) => [id, role]));
  return (verdict.placed?.kernels ?? []).map(({ kernelId, node, deviceIds }) => ({
    role: roles.get(kernelId) ?? kernelId,
    node,
    devices: [...deviceIds],
  }));
}

/** For the quota or the size that refuses it; a crowded queue has no reason of its own. */
function refusedBy(refusal: Refusal, candidate: SnapshotPending, snapshot: Snapshot): Verdict {
  const [never] = quotaNever(
    candidate,
    snapshot.quotas.filter(({ scope, id }) => candidate[`${scope}Id`] === id),
  );
  const tooLarge = refusal.code === 'never_fits' ? whatIf(snapshot, candidate, snapshot.takenAt).waiting?.reason : null;
  return {
    outcome: 'refused',
    kernels: [],
    reason: tooLarge ?? (never === undefined ? null : `${never.scope}_quota`),
    message: refusal.detail,
    quotaAfter: [...quotaAfter(snapshot.quotas, candidate)],
    estimatedStart: null,
    estimateBasis: 'it can never start',
    position: null,
    wouldStop: [],
  };
}

/** By the ledger's clock. */
function answerOf(snapshot: Snapshot, candidate: SnapshotPending): Verdict {
  const verdict = whatIf(snapshot, candidate, snapshot.takenAt);
  const isNever = verdict.outcome === 'refused';
  const { at, basis } = isNever ? { at: null, basis: 'it can never start' } : verdict.expectedStart;
  return {
    outcome: verdict.outcome,
    kernels: placedKernels(verdict, candidate),
    reason: verdict.waiting?.reason ?? null,
    message: verdict.placed?.explanation ?? verdict.waiting?.message ?? '',
    quotaAfter: [...verdict.quotaAfter],
    estimatedStart: at,
    estimateBasis: basis,
    position: verdict.position,
    wouldStop: verdict.wouldStop.map(({ id }) => id),
  };
}

/** What cannot be asked for so, and what is taken already, is refused as the submission would be. */
const isMistake = ({ code }: Refusal): boolean => code === 'invalid_request' || code === 'conflict';

/** What admission and the next pass would decide about this request, at its place in the queue. Nothing is written. */
export async function dryRunSession(deps: ApiDeps, principal: Principal, call: DryRunCall): Promise<DryRun> {
  const { sessions, planning } = deps.store;
  const { spec, sessionId } = call;
  const submission = submissionOf(deps, sessionId, { spec, principal });
  const context = await sessions.previewAdmission(submission);
  const question = admissionQuestion(context);
  const refusal = decideAdmission(question);
  if (refusal !== null && isMistake(refusal)) throw new ProblemError(refusal);
  const snapshot = found(await planning.snapshot(spec.group), `group ${spec.group}`);
  const budgetId = chargedBudget(question);
  const candidate = sessions.candidate(submission, context, budgetId);
  const answer = refusal === null ? answerOf(snapshot, candidate) : refusedBy(refusal, candidate, snapshot);
  return { ...answer, contract: contractIn(context, spec, budgetId) };
}

/** As the session would show it; null where nothing is charged. */
function contractIn({ budgets }: AdmissionContext, spec: CreateSession, budgetId: string | null): DryRun['contract'] {
  if (budgets === null) return null;
  return contractOf({
    budget: budgetId === null ? null : forestOf(budgets.rows).pathOf(budgetId),
    minRuntimeSeconds: spec.minRuntimeSeconds,
    graceSeconds: spec.gracePeriodSeconds,
    unallocatedGraceSeconds: budgets.settings.unallocatedGraceSeconds,
  });
}
interface DryRunCall {
  readonly spec: CreateSession;
  readonly sessionId: Session['id'];
}
