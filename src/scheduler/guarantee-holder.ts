import type { SnapshotGuarantee, SnapshotPending, SnapshotRunning } from '../contract/snapshot.js';

/**
 * Whose a guarantee is, as a key: a project's id, or the replicas of deployments (`inference@`), of one project where it says so
 * (`inference@<id>`). Who has none is its project.
 */
export type Holder = string;
type Guaranteed = { readonly guarantees: ReadonlyMap<Holder, SnapshotGuarantee> };

const replicasOf = (projectId: string): Holder => `inference@${projectId}`;
const ALL_REPLICAS = replicasOf('');

export const guaranteeKey = ({ projectId, kind }: Pick<SnapshotGuarantee, 'projectId' | 'kind'>): Holder =>
  kind === undefined ? projectId : replicasOf(projectId);

/** The closest one counts: replicas of its project, then replicas of all, then the project. */
export function holderOf(
  { guarantees }: Guaranteed,
  { kind, projectId }: Pick<SnapshotPending | SnapshotRunning, 'kind' | 'projectId'>,
): Holder {
  if (kind !== 'inference') return projectId;
  const own = replicasOf(projectId);
  if (guarantees.has(own)) return own;
  return guarantees.has(ALL_REPLICAS) ? ALL_REPLICAS : projectId;
}

/** `lab/chat`, `deployments of lab/chat`, `deployments`. */
export const guaranteedTo = ({ project, kind }: Pick<SnapshotGuarantee, 'project' | 'kind'>): string => {
  if (kind === undefined) return project;
  return project === '' ? 'deployments' : `deployments of ${project}`;
};
