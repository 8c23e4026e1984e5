import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperationId } from '../../contract/index.js';
import { hasEnded } from '../../lifecycle/milestones.js';
import { clientGone } from '../client-gone.js';
import type { ApiDeps } from '../deps.js';
import { followSession } from '../follow-session.js';
import type { Handlers } from '../handler.js';
import { invalid, problem } from '../problem.js';
import { mustManageSession, mustOwnSession } from '../rights.js';
import { seeSession } from '../see-session.js';
import { openSse } from '../sse.js';
import { locateKernel } from './locate-kernel.js';

type Ids = Extract<OperationId, 'sessionEvents' | 'sessionLogs' | 'execSession'>;

const FRAMES = 'application/x-ndjson';
const SANE_EVENT_ID = /^[0-9A-Za-z._:-]{1,64}$/;

function lastEventId(request: FastifyRequest): string | null {
  const header = request.headers['last-event-id'];
  if (header === undefined || header === '') return null;
  if (typeof header !== 'string' || !SANE_EVENT_ID.test(header)) throw invalid('', 'Last-Event-ID is none of ours');
  return header;
}

/** Hands the agent's frames through as they come: nothing is kept here, and a slow client slows the agent. */
function pipe(reply: FastifyReply, frames: Readable): 'stream' {
  void reply.header('x-accel-buffering', 'no').type(FRAMES).send(frames);
  return 'stream';
}

export function sessionStreamHandlers(deps: ApiDeps): Handlers<Ids> {
  const { sessions } = deps.store;
  return {
    async sessionEvents({ params }, { principal, request, reply }) {
      const { id: sessionId } = await seeSession(sessions, params.session, principal);
      const after = lastEventId(request);
      const stream = openSse(reply);
      try {
        await followSession(deps, stream, { sessionId, after });
      } catch (error) {
        if (!stream.closed.aborted) request.log.warn({ err: error, sessionId }, 'an event stream was cut');
      }
      stream.end();
      return 'stream';
    },
    async sessionLogs({ params, query }, { principal, request, reply }) {
      const session = await seeSession(sessions, params.session, principal);
      mustManageSession(principal, session);
      const { kernel, ...rest } = query;
      const place = await locateKernel(deps, session, kernel);
      const asked = new URLSearchParams();
      for (const [name, value] of Object.entries(rest)) if (value !== undefined) asked.set(name, String(value));
      return pipe(reply, await deps.agents.logs(place, asked, clientGone(request)));
    },
    async execSession({ params, body }, { principal, request, reply }) {
      const session = await seeSession(sessions, params.session, principal);
      mustOwnSession(principal, session);
      if (hasEnded(session)) throw problem('gone', `${session.name} has ended`);
      const { kernel = 'main', ...command } = body;
      const place = await locateKernel(deps, session, kernel);
      return pipe(reply, await deps.agents.exec(place, command, clientGone(request)));
    },
  };
}
