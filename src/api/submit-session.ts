import type { CreateSession, Principal, Session } from '../contract/index.js';
import type { Submission } from '../store/session-store.js';
import type { ShownOwner } from '../temporal/door.js';
import type { ApiDeps } from './deps.js';
import type { SessionSecrets } from './handlers/nodes.js';
import { ProblemError, problem } from './problem.js';

/** The spec as it is kept: names of variables stay, their values and the registry's password are sealed apart. */
export function withoutSecrets(spec: CreateSession): CreateSession {
  const { registryCredentials: _sealed, ...open } = spec;
  return { ...open, environment: Object.fromEntries(Object.keys(spec.environment).map((name) => [name, ''])) };
}

const hasSecrets = ({ environment, registryCredentials }: CreateSession): boolean =>
  registryCredentials !== undefined || Object.keys(environment).length > 0;

export function submissionOf(
  { seal }: Pick<ApiDeps, 'seal'>,
  sessionId: Session['id'],
  request: { readonly spec: CreateSession; readonly principal: Principal },
): Submission {
  const { spec, principal } = request;
  const { environment, registryCredentials = null } = spec;
  const secrets: SessionSecrets = { environment, registryCredentials };
  return {
    sessionId,
    principal,
    spec: withoutSecrets(spec),
    sealedSecrets: hasSecrets(spec) ? seal.seal(secrets, sessionId) : null,
    submittedAt: new Date().toISOString(),
  };
}

/** What Temporal's UI shows of it from the first moment, when the request names its project or the user has just one. */
function shownOf({ principal, spec }: Submission): ShownOwner | undefined {
  const only = principal.projects.length === 1 ? principal.projects[0]?.name : undefined;
  const project = spec.project?.split('/').at(-1) ?? only;
  return project === undefined ? undefined : { user: principal.userName, project, group: spec.group };
}

/**
 * Stores the submission, starts its workflow and waits for admission. Run twice with one id it makes one session. When
 * Temporal is away the submission stands: the answer is SUBMITTED, and the sweeper starts the workflow later.
 */
export async function submitSession(deps: ApiDeps, submission: Submission): Promise<Session> {
  const { store, door, log, options } = deps;
  const { sessionId, principal } = submission;
  await store.idempotency.putSubmission(submission);
  const answer = await door
    .submitSession(sessionId, options.admissionWaitMs, shownOf(submission))
    .catch((error: unknown) => {
      log.warn({ err: error, sessionId }, 'a submission waits for Temporal');
      return { outcome: 'pending' as const };
    });
  if (answer.outcome === 'refused') throw new ProblemError(answer.refusal);
  const { sessions } = store;
  const admitted = () => sessions.get(sessionId, principal);
  // Asked again: it may be admitted between the two questions, and then it is no submission any more.
  const session = (await admitted()) ?? (await sessions.getSubmitted(sessionId, principal)) ?? (await admitted());
  if (session === null) throw problem('internal', `the submission ${sessionId} is not there`);
  return session;
}
