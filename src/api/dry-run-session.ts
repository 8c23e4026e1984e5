import type {
  CreateSession,
  Principal,
  RouteAnswer,
  Session,
  Snapshot,
  SnapshotPending,
  SnapshotQuota,
} from '../contract/index.js';
import { quotaMessage } from '../scheduler/quota-book.js';
import { quotaNever } from '../scheduler/quota-never.js';
import { type WhatIf, whatIf } from '../scheduler/what-if.js';
import type { ApiDeps } from './deps.js';
import { found, invalid, notFound } from './problem.js';
import { submissionOf } from './submit-session.js';

const SLOTS = ['gpuCount', 'cpuMilli', 'memoryBytes', 'gpuMemoryBytes', 'sessions'] as const;

type DryRun = Extract<RouteAnswer<'createSession'>, { readonly outcome: string }>;

const isOf = (candidate: SnapshotPending) => (quota: SnapshotQuota) =>
  quota.id === { user: candidate.userId, project: candidate.projectId, domain: candidate.domainId }[quota.scope];

function requested(candidate: SnapshotPending, slot: (typeof SLOTS)[number]): number {
  return slot === 'sessions' ? 1 : candidate.kernels.reduce((sum, { slots }) => sum + slots[slot], 0);
}

/** What each limit that binds would stand at, were it placed. */
const quotaAfter = (quotas: readonly SnapshotQuota[], candidate: SnapshotPending): DryRun['quotaAfter'] =>
  quotas.flatMap(({ scope, name, limits, held }) =>
    SLOTS.flatMap((slot) => {
      const limit = limits[slot];
      return limit === undefined ? [] : [{ scope, name, slot, held: held[slot] + requested(candidate, slot), limit }];
    }),
  );

function placedKernels(verdict: WhatIf, candidate: SnapshotPending): DryRun['kernels'] {
  const roles = new Map(candidate.kernels.map(({ id, role }) => [id, role]));
  return (verdict.placed?.kernels ?? []).map(({ kernelId, node, deviceIds }) => ({
    role: roles.get(kernelId) ?? kernelId,
    node,
    devices: [...deviceIds],
  }));
}

function answerOf(snapshot: Snapshot, candidate: SnapshotPending): DryRun {
  const now = new Date().toISOString();
  const quotas = snapshot.quotas.filter(isOf(candidate));
  const never = quotaNever(candidate, quotas);
  const common = { quotaAfter: quotaAfter(quotas, candidate), wouldStop: [] };
  if (never.length > 0) {
    const reason = `${never[0]?.scope ?? 'user'}_quota`;
    const start = { estimatedStart: null, estimateBasis: 'it can never start', position: null };
    return { ...common, ...start, outcome: 'refused', kernels: [], reason, message: quotaMessage(never) };
  }
  const verdict = whatIf(snapshot, candidate, now);
  const start = verdict.waiting?.expectedStart ?? { at: now, basis: 'there is room now' };
  return {
    ...common,
    outcome: verdict.outcome,
    kernels: placedKernels(verdict, candidate),
    reason: verdict.waiting?.reason ?? null,
    message: verdict.placed?.explanation ?? verdict.waiting?.message ?? '',
    estimatedStart: start.at,
    estimateBasis: start.basis,
    position: verdict.position,
  };
}

/** By name, or as domain/name; the first of the caller's projects when the request names none. */
function projectOf({ projects, domainName }: Principal, asked: string | undefined): void {
  const names = projects.flatMap(({ name }) => [name, `${domainName}/${name}`]);
  if (asked === undefined ? names.length === 0 : !names.includes(asked)) {
    throw notFound(asked === undefined ? 'project of yours' : `project ${asked}`);
  }
}

/** What the next pass would decide about this request, at its place in the queue. Nothing is written. */
export async function dryRunSession(deps: ApiDeps, principal: Principal, call: DryRunCall): Promise<DryRun> {
  const { store } = deps;
  const { spec, sessionId } = call;
  const what = `group ${spec.group}`;
  found(await store.settings.getGroup(spec.group, principal), what);
  projectOf(principal, spec.project);
  for (const { folder } of spec.mounts) {
    found(await store.folders.find(folder, principal), `folder ${folder}`);
  }
  for (const [index, { session }] of spec.dependsOn.entries()) {
    if ((await store.sessions.find(session, principal)) === null) {
      throw invalid(`/dependsOn/${index}/session`, `you can see no session named ${session}`);
    }
  }
  const snapshot = found(await store.planning.snapshot(spec.group), what);
  return answerOf(snapshot, store.sessions.candidate(submissionOf(deps, sessionId, { spec, principal })));
}
interface DryRunCall {
  readonly spec: CreateSession;
  readonly sessionId: Session['id'];
}
