import type { Submission } from '../store/session-store.js';
import type { IdempotencyStore } from '../store/store.js';
import type { ShownOwner, SubmitAnswer, TemporalDoor } from '../temporal/door.js';

export interface SubmissionParts {
  readonly store: { readonly idempotency: Pick<IdempotencyStore, 'putSubmission'> };
  readonly door: Pick<TemporalDoor, 'submitSession'>;
  readonly log: { readonly warn: (fields: object, message: string) => void };
}

/**
 * Stores the submission, then starts its workflow and waits up to `waitMs` for admission. Run twice with one id it makes one
 * session. When Temporal is away the answer is `pending`: the submission stands, and the sweeper starts the workflow later.
 */
export async function startSubmission(
  { store, door, log }: SubmissionParts,
  submission: Submission,
  waitMs: number,
): Promise<SubmitAnswer> {
  const { sessionId } = submission;
  await store.idempotency.putSubmission(submission);
  return door.submitSession(sessionId, waitMs, shownOf(submission)).catch((error: unknown) => {
    log.warn({ err: error, sessionId }, 'a submission waits for Temporal');
    return { outcome: 'pending' as const };
  });
}

/** What Temporal's UI shows of it from the first moment, when the request names its project or the user has just one. */
function shownOf({ principal, spec }: Submission): ShownOwner | undefined {
  const only = principal.projects.length === 1 ? principal.projects[0]?.name : undefined;
  const project = spec.project?.split('/').at(-1) ?? only;
  return project === undefined ? undefined : { user: principal.userName, project, group: spec.group };
}
