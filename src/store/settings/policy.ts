import { type GroupPolicy, groupPolicySchema, type PatchGroupPolicy } from '../../contract/index.js';

/** A policy as it was stored: what it was stored without has its default. */
export const policyOf = (stored: unknown): GroupPolicy => groupPolicySchema.parse(stored);

const given = (patch: object | undefined): object =>
  Object.fromEntries(Object.entries(patch ?? {}).filter(([, value]) => value !== undefined));

/** What is not named stays, in `decay` and `preemption` too; a list is replaced whole. */
export const patchedPolicy = (policy: GroupPolicy, patch: PatchGroupPolicy = {}): GroupPolicy =>
  policyOf({
    ...policy,
    ...given(patch),
    decay: { ...policy.decay, ...given(patch.decay) },
    preemption: { ...policy.preemption, ...given(patch.preemption) },
  });
