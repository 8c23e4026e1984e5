import type { CreateSession } from '../contract/session.js';
import type { AdmissionQuestion } from './decide-admission.js';

/** What the ledger knows of a submission, whether it is stored or only asked about. */
type Known = Omit<AdmissionQuestion, 'request' | 'wants' | 'contract' | 'name' | 'asked'> & {
  readonly submission: { readonly spec: CreateSession };
};

/** The question of a submission and of a dry run, in the same words: both are refused alike. */
export function admissionQuestion(known: Known): AdmissionQuestion {
  const { spec } = known.submission;
  return {
    ...known,
    request: {
      architecture: spec.architecture ?? null,
      gpuModel: spec.gpuModel ?? null,
      clusterMode: spec.clusterMode,
      wishes: {
        ...spec.placement,
        zone: spec.placement.zone ?? null,
        replicaGroup: spec.placement.replicaGroup ?? null,
      },
      kernels: spec.kernels.flatMap(({ count, slots }) => Array.from({ length: count }, () => ({ slots }))),
    },
    wants: {
      kind: spec.kind,
      minRuntimeSeconds: spec.minRuntimeSeconds,
      maxRuntimeSeconds: spec.maxRuntimeSeconds,
      requiredNodes: spec.placement.nodesRequired ? spec.placement.nodes : [],
    },
    contract: {
      kind: spec.kind,
      budget: spec.budget ?? null,
      minRuntimeSeconds: spec.minRuntimeSeconds,
      preemptible: spec.preemptible,
    },
    name: spec.name ?? null,
    asked: { group: spec.group, project: spec.project ?? null },
  };
}
