import type { CreateSession, GroupPolicy, SessionKind, SnapshotPending } from '../../contract/index.js';

/** A replica that serves, and the platform's own work, are stopped for nobody unless the request says so. */
export const preemptibleOf = (kind: SessionKind, asked: boolean | undefined): boolean =>
  asked ?? (kind !== 'inference' && kind !== 'system');

/** A request that names no maximum runtime gets the one of its group for its kind, if there is one. */
export const maxRuntimeOf = (spec: CreateSession, policy: GroupPolicy | undefined): number | undefined =>
  spec.maxRuntimeSeconds ?? policy?.maxRuntimeSeconds[spec.kind];

type WishedFields =
  | 'kind'
  | 'minRuntimeSeconds'
  | 'maxRuntimeSeconds'
  | 'gracePeriodSeconds'
  | 'preemptible'
  | 'startsAt'
  | 'wishes'
  | 'image';

/** What a request says of when and where it wants to run, as a snapshot carries it. */
export const wishedFields = (spec: CreateSession): Pick<SnapshotPending, WishedFields> => ({
  kind: spec.kind,
  minRuntimeSeconds: spec.minRuntimeSeconds,
  maxRuntimeSeconds: spec.maxRuntimeSeconds ?? null,
  gracePeriodSeconds: spec.gracePeriodSeconds,
  preemptible: preemptibleOf(spec.kind, spec.preemptible),
  startsAt: spec.startsAt ?? null,
  wishes: {
    ...spec.placement,
    zone: spec.placement.zone ?? null,
    replicaGroup: spec.placement.replicaGroup ?? null,
  },
  image: spec.image,
});
