import type { OperationId, Principal, Session } from '../../contract/index.js';
import { hasEnded } from '../../lifecycle/milestones.js';
import { newSessionId } from '../../platform/ids.js';
import { clientGone } from '../client-gone.js';
import type { ApiDeps } from '../deps.js';
import { dryRunSession } from '../dry-run-session.js';
import type { Checks, Handlers } from '../handler.js';
import { deliver, kick } from '../kick.js';
import { found, problem } from '../problem.js';
import { mustManageSession } from '../rights.js';
import { seeSession } from '../see-session.js';
import { submissionOf, submitSession } from '../submit-session.js';
import { waitFor } from '../wait-for.js';
import { withHelp } from '../why-actions.js';
import { withStart } from '../why-start.js';

type Ids = Extract<
  OperationId,
  'createSession' | 'listSessions' | 'getSession' | 'whySession' | 'stopSession' | 'sessionHistory'
>;

interface Stop {
  readonly graceSeconds?: number | undefined;
  readonly force: boolean;
  readonly reason?: string | undefined;
}

/** Records the stop in the ledger, then tells the session's workflow. A second stop changes nothing. */
async function stop(deps: ApiDeps, session: Session, how: Stop & { readonly by: Principal }): Promise<void> {
  const { by, graceSeconds, force, reason = '' } = how;
  const asked = graceSeconds === undefined ? null : Math.round(graceSeconds * 1000);
  const graceMs = force ? 0 : asked;
  const stopped = await deps.store.sessions.requestStop({
    sessionId: session.id,
    cause: by.userId === session.userId ? 'user-stop' : 'operator-stop',
    actor: by.userName,
    message: reason,
    graceMs,
    force,
  });
  if (stopped === null) throw problem('conflict', `${session.name} is not admitted yet`, { retryAfterSeconds: 1 });
  deliver(deps, [
    { sessionId: session.id, kind: 'stop', attempt: stopped.attempt, ...(graceMs !== null && { graceMs }) },
  ]);
  if (stopped.changed) await kick(deps, session.group, true);
}

/** A dry run is refused as the stop would be. */
export const sessionChecks = ({ store: { sessions } }: ApiDeps) =>
  ({
    async stopSession({ params }, { principal }) {
      mustManageSession(principal, await seeSession(sessions, params.session, principal));
    },
  }) satisfies Checks;

export function sessionHandlers(deps: ApiDeps): Handlers<Ids> {
  const { sessions, planning, events } = deps.store;
  const see = (idOrName: string, viewer: Principal) => seeSession(sessions, idOrName, viewer);
  return {
    async createSession({ query, body }, { principal, resourceId }) {
      if (query.dryRun) return dryRunSession(deps, principal, { spec: body, sessionId: newSessionId() });
      const sessionId = resourceId as Session['id'];
      return submitSession(deps, submissionOf(deps, sessionId, { spec: body, principal }));
    },
    listSessions: ({ query }, { principal }) => sessions.list(query, principal) as never,
    async getSession({ params, query }, { principal, request }) {
      if (query.waitFor === undefined) return see(params.session, principal);
      const timeoutMs = query.timeoutSeconds * 1000;
      const wait = { idOrName: params.session, milestone: query.waitFor, timeoutMs, viewer: principal };
      return waitFor(deps, { ...wait, signal: clientGone(request) });
    },
    async whySession({ params }, { principal }) {
      const session = await see(params.session, principal);
      const why = found(await planning.why(session.id), `reason for ${session.name} yet`);
      return withStart(deps, withHelp(why, session), session);
    },
    async stopSession({ params, body }, { principal }) {
      const session = await see(params.session, principal);
      if (hasEnded(session)) return session;
      await stop(deps, session, { ...body, by: principal });
      return see(session.id, principal);
    },
    async sessionHistory({ params, query }, { principal }) {
      const session = await see(params.session, principal);
      const items = await events.ofSession(session.id, query.after ?? null, query.limit);
      const last = items.length === query.limit ? items.at(-1) : undefined;
      return { items: [...items], nextCursor: last?.id ?? null };
    },
  };
}
