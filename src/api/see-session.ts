import type { Principal, Session } from '../contract/index.js';
import type { SessionStore } from '../store/session-store.js';
import { notFound, ProblemError } from './problem.js';

const SESSION_ID = /^ses_[0-9a-z]{26}$/;
type SessionId = Session['id'];

export const asSessionId = (text: string): SessionId | null => (SESSION_ID.test(text) ? (text as SessionId) : null);

/**
 * The session by id or name, as the caller may see it: the row, or the submission that is not admitted yet (SUBMITTED).
 * Throws its refusal when admission refused it, and 404 for what is not there or not theirs.
 */
export async function seeSession(store: SessionStore, idOrName: string, viewer: Principal): Promise<Session> {
  const row = await store.find(idOrName, viewer);
  if (row !== null) return row;
  const id = asSessionId(idOrName);
  const submitted = id === null ? null : await store.getSubmitted(id, viewer);
  if (id === null || submitted === null) {
    const admitted = id === null ? null : await store.find(id, viewer); // between the two questions
    if (admitted === null) throw notFound(`session ${idOrName}`);
    return admitted;
  }
  const refusal = await store.refusalOf(id);
  if (refusal !== null) throw new ProblemError(refusal);
  return submitted;
}
