import type { Session, SessionEvent } from '../../contract/index.js';
import type { Frame } from '../frames.js';
import { framesOf } from '../frames.js';
import type { AnswerOf, BodyOf, CallOptions, QueryOf } from '../operations.js';
import { type List, listOf } from '../pages.js';
import { type EventsOptions, sessionEvents } from '../session-events.js';
import type { Transport } from '../transport.js';
import { type WaitOptions, waitFor } from '../wait-for.js';

export type DryRun = Extract<AnswerOf<'createSession'>, { outcome: string }>;
export type LogsOptions = CallOptions & {
  /** Frames go on coming until the kernel ends. */
  readonly follow?: boolean | undefined;
  readonly tail?: number | undefined;
  readonly sinceSeconds?: number | undefined;
  /** A role or a kernel's id; `main` when omitted. */
  readonly kernel?: string | undefined;
};

/** `session` is an id or, among your own, a name. */
export const sessionsOf = (transport: Transport) => ({
  /** Submits; the answer is there before the session is placed. */
  create: async (spec: BodyOf<'createSession'>, options?: CallOptions): Promise<Session> =>
    (await transport.call('createSession', { body: spec }, options)) as Session,

  /** What it would get; changes nothing. */
  dryRun: async (spec: BodyOf<'createSession'>, options?: CallOptions): Promise<DryRun> =>
    (await transport.call('createSession', { body: spec, query: { dryRun: true } }, options)) as DryRun,

  list: (query: QueryOf<'listSessions'> = {}, options?: CallOptions): List<Session> =>
    listOf((cursor) =>
      transport.call('listSessions', { query: { ...query, ...(cursor === undefined ? {} : { cursor }) } }, options),
    ),

  get: (session: string, options?: CallOptions) => transport.call('getSession', { params: { session } }, options),
  why: (session: string, options?: CallOptions) => transport.call('whySession', { params: { session } }, options),

  /** A second call changes nothing. */
  stop: (session: string, how: BodyOf<'stopSession'> = {}, options?: CallOptions) =>
    transport.call('stopSession', { params: { session }, body: how }, options),

  wait: (session: string, options?: WaitOptions): Promise<Session> => waitFor(transport, session, options),
  events: (session: string, options?: EventsOptions): AsyncGenerator<SessionEvent, void, undefined> =>
    sessionEvents(transport, session, options),

  /** Its changes so far, oldest first. */
  history: (session: string, options?: CallOptions): List<SessionEvent> =>
    listOf((after) => {
      const query = after === undefined ? {} : { after };
      return transport.call('sessionHistory', { params: { session }, query }, options);
    }),

  async *logs(session: string, options: LogsOptions = {}): AsyncGenerator<Frame, void, undefined> {
    const { follow, tail, sinceSeconds, kernel, ...rest } = options;
    const query = { follow, tail, sinceSeconds, kernel };
    yield* framesOf(await transport.stream('sessionLogs', { params: { session }, query }, rest));
  },

  /** Runs a command beside the main one. The last frame has its exit code. */
  async *exec(
    session: string,
    what: BodyOf<'execSession'>,
    options?: CallOptions,
  ): AsyncGenerator<Frame, void, undefined> {
    yield* framesOf(await transport.stream('execSession', { params: { session }, body: what }, options));
  },
});
