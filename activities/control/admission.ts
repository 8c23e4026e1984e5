import type { KernelId, SessionId } from '../../src/contract/index.js';
import { admissionQuestion } from '../../src/scheduler/admission-question.js';
import { chargedBudget } from '../../src/scheduler/contract-grounds.js';
import { decideAdmission } from '../../src/scheduler/decide-admission.js';
import type { AdmissionContext, AdmittedKernel } from '../../src/store/session-store.js';
import type { Admission } from './control-activities.js';
import type { ControlDependencies } from './dependencies.js';
import { kickGroup } from './kick.js';

/**
 * Admits or refuses a submission. Run twice it answers the same: an inserted row admits, a kept refusal refuses.
 * The kick comes after the row is committed, and again at a second run whose first died in between.
 */
export async function admit(dependencies: ControlDependencies, sessionId: string): Promise<Admission> {
  const { sessions } = dependencies.store;
  const id = sessionId as SessionId;
  const kept = await sessions.refusalOf(id);
  if (kept !== null) return { outcome: 'refused', refusal: kept };
  const context = await sessions.readAdmission(id);
  if (context === null) {
    return { outcome: 'refused', refusal: { code: 'not_found', detail: `no submission is stored under ${sessionId}` } };
  }
  if (context.alreadyAdmitted !== null) {
    await kickGroup(dependencies, context.alreadyAdmitted.group);
    return { outcome: 'admitted', shown: context.alreadyAdmitted };
  }
  const question = admissionQuestion(context);
  const refusal = decideAdmission(question);
  if (refusal !== null) {
    await sessions.recordRefusal(id, refusal);
    return { outcome: 'refused', refusal };
  }
  const kernels = kernelsOf(context, dependencies.newKernelId);
  const shown = await sessions.insertPending(context, kernels, chargedBudget(question));
  await kickGroup(dependencies, shown.group);
  return { outcome: 'admitted', shown };
}

type KernelGroups = AdmissionContext['submission']['spec']['kernels'];

/** main first (rank 0), then the other roles in the order of the request: worker1, worker2 … of the role `worker`. */
export const expandKernels = (groups: KernelGroups): Omit<AdmittedKernel, 'id'>[] =>
  groups
    .toSorted((a, b) => Number(b.role === 'main') - Number(a.role === 'main'))
    .flatMap(({ role, count, slots }) =>
      Array.from({ length: count }, (_, index) => ({
        role: role === 'main' ? role : `${role}${index + 1}`,
        groupRole: role,
        slots,
      })),
    )
    .map((kernel, rank) => ({ ...kernel, rank }));

const kernelsOf = (context: AdmissionContext, newKernelId: () => KernelId): AdmittedKernel[] =>
  expandKernels(context.submission.spec.kernels).map((kernel) => ({ ...kernel, id: newKernelId() }));
