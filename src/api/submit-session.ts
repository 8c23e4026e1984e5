import type { CreateSession, Principal, Session } from '../contract/index.js';
import type { Submission } from '../store/session-store.js';
import { startSubmission } from '../submit/start-submission.js';
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

/**
 * A submission as its session: admitted, or SUBMITTED when there was no answer in time. A refusal throws its problem.
 */
export async function submitSession(deps: ApiDeps, submission: Submission): Promise<Session> {
  const { sessionId, principal } = submission;
  const answer = await startSubmission(deps, submission, deps.options.admissionWaitMs);
  if (answer.outcome === 'refused') throw new ProblemError(answer.refusal);
  const { sessions } = deps.store;
  const admitted = () => sessions.get(sessionId, principal);
  // Asked again: it may be admitted between the two questions, and then it is no submission any more.
  const session = (await admitted()) ?? (await sessions.getSubmitted(sessionId, principal)) ?? (await admitted());
  if (session === null) throw problem('internal', `the submission ${sessionId} is not there`);
  return session;
}
